// Whether the small module analyzes a Python source in full: it has no Triton, no CUDA C++ in its strings (for CuPy or
// load_inline), no packages or GPUs that a setup.py, a container image or a pod requests, and none of the words that start
// the checks in analyzer/python/src/rules/strings and rules/releases; and no string that may be a file of another language, for which
// analyzer/src/embedded_files.rs has the words. This is a text search; a source that only mentions them is analyzed by the
// second module as well.

const words = [
  /triton|__(global|device)__|(install|setup)_requires|(extras|tests)_require|pip_install|run_commands|modal|=["']ml\.|nvidia\.com\/gpu|["']pip["']: \[|-std=|nvidia\/cuda:|image = "/,
  /#!\/\S*( \S*)?sh\b|FROM \S|image:|trtllm-build/,
  /nvcc|nsys|\bncu\b|nvprof|nv-nsight|cuda-gdb|compute-sanitizer|cuda-memcheck|cuobjdump|nvidia-cuda-mps|trtexec|trtllm-serve|dcgmi|nvidia-ctk|nvdisasm|ptxas/,
  /CUDA_(HOME|PATH|ROOT)|CDLL|LoadLibrary|dlopen|CUDAExtension|_sm\d|vllm_flash_attn|sageattn3|spas_sage_attn|flash_mla|block_sparse_attn|polygraphy|import cudnn|flash[-_]att\w*-?[23]/,
  /cuvs|cucim|cuspatial|cuxfilter|pylibraft|raft_dask|nvtabular|cuopt|nvmath|cuquantum|cupynumeric|cvcuda|PyNvCodec/,
  /MinkowskiEngine|mxnet|onediff|oneflow|sfast|__CUDA_NO_HALF|torchsparse|kaolin|marlin|modelopt|pytorch_quantization|nvfuser|jtop|nvitop|gpustat|pynvml_utils|import warp|cuda_shared_memory|taichi|isaac|task_type|faster_whisper|ctranslate2/,
  /torch\._six|model_urls|\.next\(\)|ColorJitter|\bonnx\b|FileDescriptor|tensorflow|trimesh|open3d|vllm\.|["']llava["']|\.fft\(|functional_tensor|models\.utils import|utils\.ffi|distributed\.pipeline\b|\b(symeig|eig|lstsq|matrix_rank|solve|rfft|irfft|ifft|gels|btrifact|stft)\b|torchaudio/,
  /collections(\.| import[^\n]*\b)[A-Z](?!ounter|hainMap|rderedDict)|collections import \(|numpy as (?!np\b)|\b(np|numpy)\.(float|int|object|str|complex|Inf|Infinity|infty|PINF|NaN|float_|complex_|unicode_|string_|bool8|product|cumproduct|sometrue|alltrue|round_|mat|longfloat|NINF|asfarray|cast|find_common_type|msort|in1d|trapz|fromstring|RankWarning|ComplexWarning|VisibleDeprecationWarning|AxisError)\b|\.tostring\(\)|\b(getargspec|clock|linux_distribution|gcd|cElementTree|encodestring|decodestring|SafeConfigParser|imp|asyncore|asynchat|smtpd|cgi|cgitb|pipes|imghdr|sndhdr|telnetlib|crypt|nntplib|uu|xdrlib|audioop|aifc|lib2to3)\b|asyncio(\.| import[^\n]*\b)coroutine\b|platform(\.| import[^\n]*\b)dist\b|numpy\.distutils|\.byte\(\)|\(torch\.uint8\)|ByteTensor/,
  /__version__(\[0?:[34]\]|\.split)|torchvision\.__version__|["']--local_rank["']|["']: (self\.)?args\b|torch\.save\(([\w.]+\.)?(model|net|network),/,
  /^(?=[^]*torch\.load\()(?=[^]*\bsave)(?=[^]*\b(np|numpy)\.)/,
  /torch\.load\([^]*[\w)]\[["']/,
  /["']sm_?\d\d|_capability\([^]*\{\w+\}\{\w+\}|(_capability|_sm_|nvidia\w*\()[^]{0,900}\braise\b|assert[^]{0,100}(_capability|_sm_|nvidia\w*\()|_attention_impl\(["']FA/,
  /ops\.trtllm|faiss|green_contexts|cv2\.cuda|tvm\.target|tilelang|["']engine["']|which\(["']nvidia-smi|\/dev\/nvidia|\/proc\/driver\/nvidia|\+?cu\d*["'] in torch|torch\.__version__\)\[0\]|CUDA out of memory\.?["'],|extra_ldflags|libraries\.append/,
  /\b(ANTIALIAS|LINEAR|CUBIC|textsize|tostring_rgb|pywrapgraph|write_wav|cached_download|HfFolder|Repository|InferenceApi|load_metric|prepare_model_for_int8_training|voxel_grid|evaluation_strategy|(error|warn)_bad_lines|mangle_dupe_cols|cached_path|generation_utils|modeling_utils|model_parallel_utils|modeling_attn_mask_utils|(from|to)_numpy_matrix|(from|to)_scipy_sparse_matrix|(read|write)_gpickle|linear_assignment_|load_boston|Imputer|plot_confusion_matrix|plot_roc_curve|jaccard_similarity_score|compare_(ssim|psnr|mse|nrmse)|json_normalize|(Int|Float)64Index|binom_test|simps|trapz|cumtrapz|register_cmap|get_cmap|(training|validation|test)_epoch_end|AutoModelForVision2Seq|CLIPFeatureExtractor|(LineByLine)?TextDataset|is_torch_fx_available|is_torch_tpu_available|BeamSearchScorer|(Sample|GreedySearch)DecoderOnlyOutput|Llama(FlashAttention2|SdpaAttention)|LLAMA_INPUTS_DOCSTRING|datapipes|dataloader2|nerfacc)\b/,
  /yaml[^]*\bload\(|utils import[^]{0,200}\bspconv|font\w*\.getsize\(|projection=|["']seaborn|get_data\(|tokenizer=|squeeze=|prefix=|librosa|torchmetrics|lightning|diffusers|moviepy|kornia|gradio\.(in|out)puts|gradio[^]*\b(in|out)puts\.|gensim|transformers[^]*AdamW|scipy[^]*(misc|signal)|sklearn[^]*(externals|cross_validation|grid_search|testing)|(pandas|pd)[^]*(Panel|datetime|\bnp\b|util)/,
];

export const isPlainPython = (source) => !words.some((word) => word.test(source));
