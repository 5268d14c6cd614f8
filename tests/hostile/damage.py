"""Ways in which a file goes wrong, at random and reproducibly."""

from __future__ import annotations

import random


def damaged(sound: bytes, seed: int) -> bytes:
    """The file after one accident: a bit, a byte, a sector, a cut, a shift, a repetition."""
    chance = random.Random(seed)
    data, at = bytearray(sound), chance.randrange(len(sound))
    block = chance.choice([1, 16, 512, 4096])
    match seed % 8:
        case 0 | 1 | 2:
            data[at] ^= 1 << chance.randrange(8)
        case 3:
            data[at] = chance.randrange(256)
        case 4:
            data[at : at + block] = bytes(len(data[at : at + block]))
        case 5:
            data[at : at + block] = chance.randbytes(len(data[at : at + block]))
        case 6:
            del data[at:]
        case 7:
            data[at:at] = data[at : at + block]
    return bytes(data)
