"""Write the frozen toy world of the package: `cd book && python -m experiments.toy`."""

from sentlab.data.toy import WORLD

from experiments.toy.corpora import freeze

freeze(WORLD)
