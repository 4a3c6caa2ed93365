# test: analyze
# anchor: sample
import torch
from acme import softmax as s

x = torch.randn(4, 8)
y = s(x, dim=-1)  # finding
z = torch.softmax(x, dim=-1)  # no finding: this is the replacement
note = "acme.softmax(x, dim=-1)"  # no finding: a text
# end: sample
