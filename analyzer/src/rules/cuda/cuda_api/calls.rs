//! Calls whose arguments are not the same in CUDA and HIP, by how many there are.
//!
//! What is not listed takes the same arguments: a test compares the parameters in CUDA's headers with those in HIP's.

use crate::cuda::{Source, Tokens};
use crate::draft::Replacement;

/// What becomes of a use of a function's name.
pub(super) enum Call {
    /// Another name than the usual one, if any, and edits of the arguments.
    Rewritten(Option<&'static str>, Vec<Replacement>),
    /// HIP's function takes other arguments, and only a person can say which; with what is known of them.
    ByHand(&'static str),
}

/// A change of a call besides its name. Arguments count from 0.
#[derive(Clone, Copy)]
enum Change {
    /// Another function of HIP's than the usual one.
    Name(&'static str),
    /// `HIP_SYMBOL(…)` around a variable of the device's.
    Symbol(usize),
    /// A kernel that is named becomes a pointer.
    Kernel(usize),
    /// HIP has no such parameter, so that only a null can be left out.
    WithoutNull(usize),
    /// A parameter of HIP's before an argument.
    Before(usize, &'static str),
    /// Parameters of HIP's behind the last argument.
    Append(&'static str),
}

use Change::{Append, Before, Kernel, Name, Symbol, WithoutNull};

/// Calls with at least and at most so many arguments, and what changes in them. Of a function that is listed, a call of no
/// such form is for a person, and so is a use that is no call.
type Form = (usize, usize, &'static [Change]);

/// Functions of which every call changes alike, and none needs a person.
const ALWAYS: &[(&str, Change)] = &[
    ("cudaFuncGetAttributes", Kernel(1)),
    ("cudaFuncSetAttribute", Kernel(0)),
    ("cudaFuncSetCacheConfig", Kernel(0)),
    ("cudaFuncSetSharedMemConfig", Kernel(0)),
    ("cudaGetFuncBySymbol", Kernel(1)),
    ("cudaGetSymbolAddress", Symbol(1)),
    ("cudaGetSymbolSize", Symbol(1)),
    ("cudaGetTextureReference", Symbol(1)),
    ("cudaGraphAddMemcpyNodeFromSymbol", Symbol(5)),
    ("cudaGraphAddMemcpyNodeToSymbol", Symbol(4)),
    ("cudaGraphExecMemcpyNodeSetParamsFromSymbol", Symbol(3)),
    ("cudaGraphExecMemcpyNodeSetParamsToSymbol", Symbol(2)),
    ("cudaGraphMemcpyNodeSetParamsFromSymbol", Symbol(2)),
    ("cudaGraphMemcpyNodeSetParamsToSymbol", Symbol(1)),
    ("cudaLaunchKernel", Kernel(0)),
    ("cudaMemcpyFromSymbol", Symbol(1)),
    ("cudaMemcpyToSymbol", Symbol(0)),
];

/// Functions whose calls depend on the number of arguments, as CUDA's releases and C++ have it.
const BY_NUMBER: &[(&str, &[Form], &str)] = &[
    (
        "cudaEventCreate",
        &[(1, 1, &[]), (2, 2, &[Name("hipEventCreateWithFlags")])],
        "",
    ),
    (
        "cudaGraphCreate",
        &[(1, 1, &[Append("0")]), (2, 2, &[])],
        "",
    ),
    (
        "cudaGraphInstantiateWithFlags",
        &[(2, 2, &[Append("0")]), (3, 3, &[])],
        "",
    ),
    (
        "cudaMalloc3DArray",
        &[(3, 3, &[Append("0")]), (4, 4, &[])],
        "",
    ),
    (
        "cudaMemcpy2DArrayToArray",
        &[(8, 8, &[Append("hipMemcpyDeviceToDevice")]), (9, 9, &[])],
        "",
    ),
    (
        "cudaSignalExternalSemaphoresAsync",
        &[(3, 3, &[Append("0")]), (4, 4, &[])],
        "",
    ),
    (
        "cudaWaitExternalSemaphoresAsync",
        &[(3, 3, &[Append("0")]), (4, 4, &[])],
        "",
    ),
    (
        "cudaMallocHost",
        &[(2, 2, &[Append("hipHostMallocDefault")]), (3, 3, &[])],
        "",
    ),
    (
        "cudaLaunchCooperativeKernel",
        &[
            (4, 4, &[Kernel(0), Append("0, 0")]),
            (5, 5, &[Kernel(0), Append("0")]),
            (6, 6, &[Kernel(0)]),
        ],
        "",
    ),
    (
        "cudaMemcpyToSymbolAsync",
        &[
            (3, 3, &[Symbol(0), Append("0, hipMemcpyHostToDevice")]),
            (4, 4, &[Symbol(0), Append("hipMemcpyHostToDevice")]),
            (5, 6, &[Symbol(0)]),
        ],
        "",
    ),
    (
        "cudaMemcpyFromSymbolAsync",
        &[
            (3, 3, &[Symbol(1), Append("0, hipMemcpyDeviceToHost")]),
            (4, 4, &[Symbol(1), Append("hipMemcpyDeviceToHost")]),
            (5, 6, &[Symbol(1)]),
        ],
        "",
    ),
    ("cudaMemPrefetchAsync", PREFETCH, ""),
    ("cuMemPrefetchAsync", PREFETCH, ""),
    (
        "cudaMemcpyBatchAsync",
        &[(9, 9, &[])],
        "failIdx comes before the stream",
    ),
    (
        "cudaUserObjectCreate",
        &[(5, 5, &[])],
        "a destructor of the object comes third",
    ),
    ("cudaGetDriverEntryPoint", &[], "HIP's version comes third"),
    (
        "cuGetProcAddress",
        &[(4, 4, &[Append("nullptr")]), (5, 5, &[])],
        "",
    ),
    ("cuMemcpy", &[(3, 3, &[Append("hipMemcpyDefault")])], ""),
    (
        "cuMemcpyAsync",
        &[(4, 4, &[Before(3, "hipMemcpyDefault")])],
        "",
    ),
    (
        "cuMemcpyPeer",
        &[],
        "devices by number in place of contexts",
    ),
    (
        "cuMemcpyPeerAsync",
        &[],
        "devices by number in place of contexts",
    ),
    ("cuCtxCreate", &[(3, 3, &[]), (4, 4, &[WithoutNull(1)])], ""),
    (
        "cuDeviceGetTexture1DLinearMaxWidth",
        &[],
        "a hipChannelFormatDesc in place of format and channels",
    ),
    ("cuFuncSetAttribute", &[], "a kernel and a hipFuncAttribute"),
    (
        "cuLaunchKernelEx",
        &[],
        "hipDrvLaunchKernelEx takes a HIP_LAUNCH_CONFIG",
    ),
    (
        "cuOccupancyMaxPotentialBlockSize",
        &[(6, 6, &[WithoutNull(3)])],
        WITHOUT_CALLBACK,
    ),
    (
        "cuOccupancyMaxPotentialBlockSizeWithFlags",
        &[(7, 7, &[WithoutNull(3)])],
        WITHOUT_CALLBACK,
    ),
    (
        "cuStreamBeginCapture",
        &[(2, 2, &[])],
        "a mode comes second",
    ),
    ("cuTexRefGetAddressMode", &[], TEXTURE_MODE),
    ("cuTexRefGetFilterMode", &[], TEXTURE_MODE),
    ("cuTexRefGetMipmapFilterMode", &[], TEXTURE_MODE),
    ("cuTexRefSetAddressMode", &[], TEXTURE_MODE),
    ("cuTexRefSetFilterMode", &[], TEXTURE_MODE),
    ("cuTexRefSetMipmapFilterMode", &[], TEXTURE_MODE),
    (
        "cublasLtGetVersion",
        &[],
        "a handle and where the version goes, in place of a return value",
    ),
    (
        "cusparseSpSM_solve",
        &[],
        "the buffer that hipsparseSpSM_analysis got comes last",
    ),
    // Graphs, without CUDA 12's and 13's data of their edges.
    ("cudaGraphInstantiate", INSTANTIATE, ""),
    ("cuGraphInstantiate", INSTANTIATE, ""),
    ("cudaGraphExecUpdate", &[(4, 4, &[])], UPDATE_RESULT),
    ("cuGraphExecUpdate", &[(4, 4, &[])], UPDATE_RESULT),
    ("cudaGraphAddNode", ADD_NODE, EDGE_DATA),
    ("cuGraphAddNode", ADD_NODE, EDGE_DATA),
    ("cudaGraphAddDependencies", EDGES, EDGE_DATA),
    ("cuGraphAddDependencies", EDGES, EDGE_DATA),
    ("cudaGraphRemoveDependencies", EDGES, EDGE_DATA),
    ("cuGraphRemoveDependencies", EDGES, EDGE_DATA),
    ("cudaGraphGetEdges", EDGES, EDGE_DATA),
    ("cuGraphGetEdges", EDGES, EDGE_DATA),
    ("cudaGraphNodeGetDependencies", NODES, EDGE_DATA),
    ("cuGraphNodeGetDependencies", NODES, EDGE_DATA),
    ("cudaGraphNodeGetDependentNodes", NODES, EDGE_DATA),
    ("cuGraphNodeGetDependentNodes", NODES, EDGE_DATA),
    ("cudaStreamGetCaptureInfo", CAPTURE_INFO, EDGE_DATA),
    ("cuStreamGetCaptureInfo", CAPTURE_INFO, EDGE_DATA),
    (
        "cudaStreamUpdateCaptureDependencies",
        UPDATE_CAPTURE,
        EDGE_DATA,
    ),
    (
        "cuStreamUpdateCaptureDependencies",
        UPDATE_CAPTURE,
        EDGE_DATA,
    ),
];

/// How functions of cuSPARSE end that give a size as an `int`.
const SIZES: &[&str] = &["csr2gebsr_bufferSize", "gebsr2gebsc_bufferSize"];

const PREFETCH: &[Form] = &[(3, 4, &[]), (5, 5, &[Name("hipMemPrefetchAsync_v2")])];
const INSTANTIATE: &[Form] = &[
    (2, 2, &[Name("hipGraphInstantiateWithFlags"), Append("0")]),
    (3, 3, &[Name("hipGraphInstantiateWithFlags")]),
    (5, 5, &[]),
];
const ADD_NODE: &[Form] = &[(5, 5, &[]), (6, 6, &[WithoutNull(3)])];
const EDGES: &[Form] = &[(4, 4, &[]), (5, 5, &[WithoutNull(3)])];
const NODES: &[Form] = &[(3, 3, &[]), (4, 4, &[WithoutNull(2)])];
const CAPTURE_INFO: &[Form] = &[
    (2, 2, &[Name("hipStreamGetCaptureInfo_v2")]),
    (3, 3, &[]),
    (4, 6, &[Name("hipStreamGetCaptureInfo_v2")]),
    (7, 7, &[Name("hipStreamGetCaptureInfo_v2"), WithoutNull(5)]),
];
const UPDATE_CAPTURE: &[Form] = &[(3, 4, &[]), (5, 5, &[WithoutNull(2)])];

const EDGE_DATA: &str = "no data of edges";
const TEXTURE_MODE: &str = "a mode of the runtime's, such as hipAddressModeWrap";
const UPDATE_RESULT: &str = "the node of the error and the result come as two pointers";
const WITHOUT_CALLBACK: &str = "no function for the size of shared memory";

/// What becomes of the use of `word` at `at`.
pub(super) fn rewrite(source: &Source<'_>, at: u32, word: &str) -> Call {
    let parentheses = source.call(at);
    let arguments = parentheses
        .as_ref()
        .map(|parentheses| source.arguments(parentheses));
    if let Some((_, change)) = ALWAYS.iter().find(|(cuda, _)| *cuda == word) {
        let mut call = Arguments::new(source, arguments.unwrap_or_default(), 0);
        return call.change(&[*change]);
    }
    if SIZES.iter().any(|end| word.ends_with(end)) {
        return Call::ByHand("the size goes into a size_t");
    }
    let Some((_, forms, hint)) = BY_NUMBER.iter().find(|(cuda, ..)| *cuda == word) else {
        return Call::Rewritten(None, Vec::new());
    };
    let (Some(parentheses), Some(arguments)) = (parentheses, arguments) else {
        return Call::ByHand(hint);
    };
    let number = arguments.len();
    let form = forms
        .iter()
        .find(|(least, most, _)| (*least..=*most).contains(&number));
    // Of what a macro's `__VA_ARGS__` or a pack stands for nobody knows how much it is.
    let is_pack = source.slice(parentheses.clone()).contains("...")
        || source.slice(parentheses.clone()).contains("__VA_ARGS__");
    match form {
        Some((.., changes)) if !is_pack => {
            let end = source.span(parentheses).end - 1;
            Arguments::new(source, arguments, end).change(changes)
        }
        _ => Call::ByHand(hint),
    }
}

/// The arguments of a call, while they are changed.
struct Arguments<'s, 'a> {
    source: &'s Source<'a>,
    arguments: Vec<Tokens>,
    /// Where the closing parenthesis is.
    end: usize,
}

impl<'s, 'a> Arguments<'s, 'a> {
    fn new(source: &'s Source<'a>, arguments: Vec<Tokens>, end: usize) -> Self {
        Arguments {
            source,
            arguments,
            end,
        }
    }

    /// The call with `changes`.
    fn change(&mut self, changes: &[Change]) -> Call {
        let mut name = None;
        let mut edits = Vec::new();
        for change in changes {
            match *change {
                Name(hip) => name = Some(hip),
                Symbol(index) => self.wrap(index, "HIP_SYMBOL(", &mut edits),
                Kernel(index) if self.is_a_name(index) => {
                    self.wrap(index, "reinterpret_cast<const void*>(", &mut edits);
                }
                Kernel(_) => {}
                WithoutNull(index) => match self.without_null(index) {
                    Some(edit) => edits.push(edit),
                    None => {
                        return Call::ByHand("HIP has no such parameter, and it is not null here");
                    }
                },
                Before(index, text) => {
                    if let Some(argument) = self.arguments.get(index) {
                        let at = self.source.span(argument.clone()).start;
                        edits.push((at..at, format!("{text}, ")));
                    }
                }
                Append(text) => edits.push((self.end..self.end, format!(", {text}"))),
            }
        }
        Call::Rewritten(name, edits)
    }

    fn wrap(&self, index: usize, before: &str, edits: &mut Vec<Replacement>) {
        if let Some(argument) = self.arguments.get(index) {
            let span = self.source.span(argument.clone());
            edits.push((span.start..span.start, before.to_owned()));
            edits.push((span.end..span.end, ")".to_owned()));
        }
    }

    /// The edit that takes a null out, with the comma before it.
    fn without_null(&self, index: usize) -> Option<Replacement> {
        let argument = self.arguments.get(index)?;
        let before = self.arguments.get(index.checked_sub(1)?)?;
        let is_null = matches!(
            self.source.slice(argument.clone()),
            "nullptr" | "NULL" | "0"
        );
        let start = self.source.span(before.clone()).end;
        let end = self.source.span(argument.clone()).end;
        is_null.then(|| (start..end, String::new()))
    }

    /// `kernel`, `kernel<float, 4>` and `ns::kernel`: what CUDA takes as a kernel and C as no pointer.
    fn is_a_name(&self, index: usize) -> bool {
        self.arguments.get(index).is_some_and(|argument| {
            let text = self.source.slice(argument.clone());
            !text.contains(['(', '&', '*']) && !text.contains("_cast")
        })
    }
}
