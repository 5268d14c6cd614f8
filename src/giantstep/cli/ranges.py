"""The reading of ranges has moved up, to where files and pages reach it too."""

from ..typed import numbers as numbers
