"""State evolution by brute force: F(s) and the best error at s = √(1 - q), from dense grids of numpy and scipy.

Z(y, ω) and its slope are sums over a fine grid of z that is cut where the function breaks; expectations are sums over
fine grids of ω and of labels, or of z where labels have no noise.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import ndtr

END = 8.6
# functions without noise: f, f', ends of the pieces on which f is monotone
SLANTED = (lambda z: np.abs(z) + 0.5 * z, lambda z: np.sign(z) + 0.5, (-END, 0.0, END))
BUMPS = (lambda z: z * np.exp(-z * z / 2), lambda z: (1 - z * z) * np.exp(-z * z / 2), (-7.5, -1.0, 0.0, 1.0, 7.5))


def density(t):
    return np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)


def panels(edges, width, count=20):
    """Gauss nodes and weights between edges, on panels no wider than that."""
    x, w = np.polynomial.legendre.leggauss(count)
    parts = [np.linspace(a, b, int(np.ceil((b - a) / width)) + 1) for a, b in itertools.pairwise(edges)]
    fine = np.unique(np.concatenate(parts))
    half = 0.5 * np.diff(fine)[:, None]
    return (fine[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def estimates(s, z, dz):
    """In blocks of estimates ω: their weights, and u and the weights of all z given ω."""
    root = np.sqrt(1 - s * s)
    omega, w = panels([-END * root, END * root], 0.25 * s)
    w = w * density(omega / root) / root
    for part in np.array_split(np.arange(len(omega)), max(1, len(omega) * len(z) // 4_000_000)):
        u = (z[:, None] - omega[part]) / s
        yield w[part], u, density(u) * dz[:, None] / s


def error_of(f, s, z, dz):
    """E Var(f | ω)."""
    value = f(z)
    return sum(((value**2) @ B - (value @ B) ** 2) @ w for w, _, B in estimates(s, z, dz))


def labels(s, cuts, first, noise):
    """Labels ±1 with latent noise, of the sign `first` left of all cuts."""
    z, dz = panels([-END, *cuts, END], 0.1)
    signs = first * (-1.0) ** np.arange(len(cuts) + 1)
    edges = np.array([-np.inf, *cuts, np.inf])
    inside = np.diff(ndtr((edges[:, None] - z) / noise), axis=0)
    up = inside[signs > 0].sum(axis=0)
    F = 0.0
    for w, u, B in estimates(s, z, dz):
        for chance in (up, 1 - up):
            F += ((chance @ (u * B)) ** 2 / np.maximum(chance @ B, 1e-300)) @ w
    return F, error_of(lambda x: signs[np.searchsorted(cuts, x)], s, z, dz)


def noisy(s, f, noise):
    """Real labels with noise, of a function that may break at 0."""
    z, dz = panels([-END, 0.0, END], 0.02)
    F, order = 0.0, np.argsort(f(z))
    z, dz = z[order], dz[order]
    value = f(z)
    labels = np.arange(value[0] - 9 * noise, value[-1] + 9 * noise, noise / 4)
    for w, u, B in estimates(s, z, dz):
        for y in np.array_split(labels, len(labels) // 50):
            near = slice(*np.searchsorted(value, [y[0] - 9 * noise, y[-1] + 9 * noise]))
            A = density((y[:, None] - value[near]) / noise)
            F += 0.25 * ((A @ (u * B)[near]) ** 2 / np.maximum(A @ B[near], 1e-300)).sum(axis=0) @ w
    return F, error_of(f, s, z, dz)


def noiseless(s, f, slope, ends):
    """Real labels without noise, of a function that is monotone between `ends`."""
    pieces = list(itertools.pairwise(ends))
    ranges = [(f(np.array(a + 1e-12)), f(np.array(b - 1e-12))) for a, b in pieces]

    def preimage(piece, y):
        (low, high), (start, end) = pieces[piece], ranges[piece]
        low, high = np.full_like(y, low), np.full_like(y, high)
        for _ in range(60):
            middle = 0.5 * (low + high)
            beyond = (f(middle) > y) == (end > start)
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.where((y > min(start, end)) & (y < max(start, end)), 0.5 * (low + high), np.nan)

    xi, F = np.arange(-9, 9.0001, 0.04), 0.0
    for own, (a, b) in enumerate(pieces):
        turned = preimage(own, np.unique(ranges))  # where another piece begins or ends
        cuts = np.unique([*turned[np.isfinite(turned)], *np.linspace(a, b, int(np.ceil((b - a) / 0.25)) + 1)])
        t, w = panels([0.0, 1.0], 1.0, 40)
        for left, right in itertools.pairwise(cuts):
            z = left + (right - left) * t**3 * (10 - 15 * t + 6 * t * t)  # nodes crowd where roots begin
            dz = (right - left) * 30 * (t * (1 - t)) ** 2 * w * density(z)
            omega = (1 - s * s) * z[:, None] + np.sqrt(1 - s * s) * s * xi
            places = np.array([z if i == own else preimage(i, f(z)) for i in range(len(pieces))])
            u = (places[..., None] - omega) / s
            with np.errstate(all="ignore"):
                weight = np.exp(-0.5 * u * u) / np.abs(slope(places))[..., None]
            there = np.isfinite(weight)
            weight, u = np.where(there, weight, 0.0), np.where(there, u, 0.0)
            total = np.maximum(weight.sum(axis=0), 1e-300)
            F += dz @ (((weight * u).sum(axis=0) / total) ** 2 @ (0.04 * density(xi)))
    return F, error_of(f, s, *panels(ends, min(0.25, 0.5 * s)))
