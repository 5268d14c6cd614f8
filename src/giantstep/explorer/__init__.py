"""The explorer: `giantstep explore`, a page on which the theory answers while sliders move.

The page is plain HTML and JavaScript of our own, served by the standard library. A notebook framework (marimo was
the candidate) reruns cells in one thread, so that a slow exact curve holds up the next quick one; it brings many
packages along, and its pages run Python that a visitor may edit. Here every question is a process of its own that
can be ended, nothing typed is ever run, nothing is fetched from a network, and there is nothing else to install.

`settings`: what the page says, checked. `call`: a call of a public verb, as an action and as Python lines.
`views`: what the page asks. `jobs`: a process for each question. `server`: HTTP. `page`: what the browser gets.
"""

from .server import Explorer as Explorer
from .server import explore as explore
