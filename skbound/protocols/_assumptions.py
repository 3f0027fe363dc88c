"""What the certificates of several protocols rest on, in the words of ``certificate_``."""

__all__ = ["DISTINCT", "GIBBS", "IID", "OUTSIDE", "WARM"]

IID = "The rows are an i.i.d. sample of the distribution that predict will meet."
OUTSIDE = "Whatever was done to the rows before fit is taken as given and not certified."
GIBBS = (
    "predict gives each row to one of the predictors by a keyed hash of the row; the bound is on "
    "the mean error over the key, which was drawn at random, independently of the rows."
)
DISTINCT = (
    "No single value of a row is so frequent that the error depends on the key: few of the rows "
    "that fit compared are equal, which tells that of others only roughly."
)
WARM = (
    "Each later net went on from the one before, with the scaling of the features that the first "
    "one had learnt from its rows."
)
