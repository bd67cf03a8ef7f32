"""What can go wrong, each with one line that says what, where, and what to do."""


class RPOError(Exception):
    """Everything that this package raises or warns of by itself."""


class InputError(RPOError, ValueError):
    """Something the user gave cannot be used; the message is one line and says what to do."""


class TrainingError(RPOError, RuntimeError):
    """Training stopped; the message names the step and the term of the loss."""


class OneDomainWarning(RPOError, UserWarning):
    """There is one training domain only, so nothing can be learned about what differs between domains."""


class OneRowWarning(RPOError, UserWarning):
    """A domain has one row in a step, too few for the split estimate of its IRM penalty: the domain has none."""


class CollapseWarning(RPOError, UserWarning):
    """The IRM penalty is strong enough for the all-zero model to be a minimum of the loss."""
