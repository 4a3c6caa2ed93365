//! HW4: what releases of PyTorch, Python, NumPy and other libraries removed or changed. As the checks in `strings`, these start from a word in the source, and the browser's small Python
//! module does not contain them.

mod library_calls;
mod loaded_objects;
pub mod local_rank_argument;
mod numpy_values;
pub mod onnx_exporter;
pub mod removed_library_api;
pub mod removed_numpy_api;
pub mod removed_python_api;
pub mod removed_torch_python_api;
pub mod stft_return_complex;
pub mod torchaudio_torchcodec;
pub mod uint8_mask;
pub mod version_prefix;
mod versions;
pub mod weights_only;

rules! {
    removed_torch_python_api,
    weights_only,
    local_rank_argument,
    removed_python_api,
    uint8_mask,
    removed_numpy_api,
    stft_return_complex,
    torchaudio_torchcodec,
    version_prefix,
    removed_library_api,
    onnx_exporter,
}
