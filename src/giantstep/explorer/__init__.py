"""The explorer: `giantstep explore`, a page on which the theory answers while sliders move.

The page is plain HTML and JavaScript of our own, served by the standard library, with charts by Plotly's script out of
its installed package. A notebook framework reruns cells in one thread, so that a slow exact curve holds up the next
quick one, and its pages run Python that a visitor may edit. Here questions go to warm processes that can be ended,
nothing typed is ever run, and nothing is fetched from a network.

`settings`: the one list of controls, and a visitor's values of them, checked. `call`: a call of a public verb, as an
action and as Python lines. `views`: what the page asks. `jobs`: a question from its check to its answer, which a worker
computes; `preload` is what workers begin with. `refusals`: what the library says, in the page's words. `server`: HTTP.
`assets`: the files that the browser gets. `page`: those files; in it `rounds.js` asks, `plots.js` and `chart.js` draw,
and `main.js` is the whole.
"""

from .server import Explorer as Explorer
from .server import explore as explore
