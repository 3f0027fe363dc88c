"""What predict does with several predictors, in words that records share."""

from __future__ import annotations

__all__ = ["joint_answer", "over_the_key"]


def joint_answer(predictor: str, n_predictors: int, what: str) -> str:
    """Say how several predictors answer together.

    Parameters
    ----------
    predictor : {"vote", "average"} or another
        What ``predict`` does with them.
    n_predictors : int
        How many.
    what : str
        Their name, in the plural.

    Returns
    -------
    str
        A sentence and a space; empty for one predictor, or where only one answers.
    """
    if n_predictors == 1:
        return ""
    return {
        "vote": f"predict lets {n_predictors} {what} vote. ",
        "average": f"predict averages the probabilities of {n_predictors} {what}. ",
    }.get(predictor, "")


def over_the_key(n_predictors: int, what: str) -> str:
    """Say over what the error of a mixture is a mean.

    Parameters
    ----------
    n_predictors : int
        How many share the rows.
    what : str
        Their name, in the plural.

    Returns
    -------
    str
        For the middle of a sentence; empty for one predictor, which has all rows.
    """
    if n_predictors == 1:
        return ""
    return (
        f" in the mean over the key of the hash that gives each row to one of {n_predictors} "
        f"{what},"
    )
