"""Exceptions and warnings; each message is one line that says what, where, and what to do."""


class RPOError(Exception):
    """Base of all exceptions and warnings of this package."""


class InputError(RPOError, ValueError):
    """Raised if an argument or input file cannot be used; the message says what to do."""


class TrainingError(RPOError, RuntimeError):
    """Raised if training stops; the message names the step and the term of the loss."""


class OneDomainWarning(RPOError, UserWarning):
    """Issued if there is only one training domain, so that no difference between domains can be learned."""


class OneRowWarning(RPOError, UserWarning):
    """Issued if a domain has one row in a step: its IRM penalty, estimated from two halves, is then zero."""


class CollapseWarning(RPOError, UserWarning):
    """Issued if the IRM penalty is so strong that predicting zero everywhere is a minimum of the loss."""
