//! HW4: releases of PyTorch. As the checks in `strings`, these start from a word in the source, and the browser's small Python
//! module does not contain them.

pub mod local_rank_argument;
pub mod removed_torch_python_api;
pub mod weights_only;

rules! {
    removed_torch_python_api,
    weights_only,
    local_rank_argument,
}
