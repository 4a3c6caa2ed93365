//! Answers to the lessons' exercises, as edits of the start or of the solution: wrong ones with their messages, and
//! right ones that differ from the solution.

/// An answer to one exercise.
pub(crate) struct Answer {
    /// The exercise's file.
    pub(crate) file: &'static str,
    /// A description of the answer.
    pub(crate) what: &'static str,
    /// The text that is edited.
    pub(crate) from: From,
    /// Replacements, applied once each, in order.
    pub(crate) edits: &'static [(&'static str, &'static str)],
    /// Parts of the messages about it. Empty for a correct answer.
    pub(crate) messages: &'static [&'static str],
}

/// The text that an answer starts from.
pub(crate) enum From {
    Start,
    Solution,
}

const CHOSEN: &str =
    "    return torch.device(\"cuda\" if torch.cuda.is_available() else \"cpu\")\n";

pub(crate) const ANSWERS: &[Answer] = &[
    Answer {
        file: "job_before.py",
        what: "quiets the three rules and keeps the rest",
        from: From::Start,
        edits: &[
            ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"),
            (
                "if os.environ.get(\"DEBUG\"):\n    os.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"\n",
                "",
            ),
            (
                "    if torch.version.cuda is None:\n        raise RuntimeError(\"this job needs a CUDA build of PyTorch\")\n",
                "",
            ),
        ],
        messages: &[
            "`torch.device(\"cuda\")` is still used without a check",
            "Nothing checks whether a GPU is available.",
            "`torch.cuda.get_device_capability()` is still called",
        ],
    },
    Answer {
        file: "job_before.py",
        what: "requires a GPU elsewhere",
        from: From::Solution,
        edits: &[(
            CHOSEN,
            "    print(torch.cuda.is_available())\n    return torch.device(\"cuda\")\n",
        )],
        messages: &["`torch.device(\"cuda\")` is still used without a check"],
    },
    Answer {
        file: "job_before.py",
        what: "drops the allocator's setting",
        from: From::Solution,
        edits: &[(
            "os.environ.setdefault(\"PYTORCH_ALLOC_CONF\", \"expandable_segments:True\")\n",
            "",
        )],
        messages: &["Nothing sets `PYTORCH_ALLOC_CONF`"],
    },
    Answer {
        file: "job_before.py",
        what: "branches on the check",
        from: From::Solution,
        edits: &[(
            CHOSEN,
            "    if torch.cuda.is_available():\n        return torch.device(\"cuda\")\n    return torch.device(\"cpu\")\n",
        )],
        messages: &[],
    },
    Answer {
        file: "job_before.py",
        what: "returns the CPU first",
        from: From::Solution,
        edits: &[(
            CHOSEN,
            "    if not torch.cuda.is_available():\n        return torch.device(\"cpu\")\n    return torch.device(\"cuda\")\n",
        )],
        messages: &[],
    },
    Answer {
        file: "monitor_before.py",
        what: "reads nothing",
        from: From::Solution,
        edits: &[
            ("    return Reading(\n", "    return dict(\n"),
            ("    return Reading(\n", "    return dict(\n"),
            ("torch.cuda.temperature(index)", "0"),
            ("amdsmi.amdsmi_get_temp_metric(gpu, junction, now)", "0"),
        ],
        messages: &[
            "No `Reading(…)` is returned",
            "`torch.cuda.temperature()` is not called.",
        ],
    },
    Answer {
        file: "monitor_before.py",
        what: "assumes the unit of power_draw on ROCm",
        from: From::Solution,
        edits: &[(
            "    if torch.version.hip is None:\n",
            "    if index >= 0:\n",
        )],
        messages: &["`torch.cuda.power_draw()` is called on ROCm too"],
    },
    Answer {
        file: "attention_before.py",
        what: "forgets the mask",
        from: From::Solution,
        edits: &[("causal=True", "causal=False")],
        messages: &["There is no call to `attention(…, causal=True)`"],
    },
    Answer {
        file: "attention_before.py",
        what: "passes SDPA the layout and the heads of flash attention",
        from: From::Solution,
        edits: &[
            (
                "from attention_router import attention\n",
                "from torch.nn import functional as F\n",
            ),
            (
                "attention(q, k, v, causal=True)",
                "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
            ),
        ],
        messages: &[
            "SDPA needs `enable_gqa=True` here",
            "transpose dimensions 1 and 2",
        ],
    },
    Answer {
        file: "attention_before.py",
        what: "calls SDPA correctly",
        from: From::Solution,
        edits: &[
            (
                "from attention_router import attention\n",
                "from torch.nn import functional as F\n",
            ),
            (
                "attention(q, k, v, causal=True)",
                "F.scaled_dot_product_attention(\n            *(t.transpose(1, 2) for t in (q, k, v)), is_causal=True, enable_gqa=True\n        ).transpose(1, 2)",
            ),
        ],
        messages: &[],
    },
    Answer {
        file: "compile_before.py",
        what: "does not compile",
        from: From::Start,
        edits: &[(
            "torch.compile(Model(4096), mode=\"reduce-overhead\")",
            "Model(4096)",
        )],
        messages: &["`torch.compile` is not called.", "`gate` is not called"],
    },
    Answer {
        file: "compile_before.py",
        what: "imports the gate and does not ask it",
        from: From::Solution,
        edits: &[("gate(model, compiled, get_inputs)", "None")],
        messages: &["`gate` is not called"],
    },
    Answer {
        file: "stopwatch_before.py",
        what: "waits after the loop",
        from: From::Start,
        edits: &[("\nprint", "\ntorch.cuda.synchronize()\nprint")],
        messages: &[
            "is not right before the line that starts",
            "is not between `model(x)` and",
        ],
    },
    Answer {
        file: "stopwatch_before.py",
        what: "waits twice before the call",
        from: From::Solution,
        edits: &[(
            "    model(x)\n    torch.cuda.synchronize()\n",
            "    torch.cuda.synchronize()\n    model(x)\n",
        )],
        messages: &["is not between `model(x)` and"],
    },
    Answer {
        file: "stopwatch_before.py",
        what: "adds only the two waits",
        from: From::Start,
        edits: &[(
            "    start = time.time()\n    model(x)\n",
            "    torch.cuda.synchronize()\n    start = time.time()\n    model(x)\n    torch.cuda.synchronize()\n",
        )],
        messages: &[],
    },
    Answer {
        file: "block_before.py",
        what: "does not compile",
        from: From::Solution,
        edits: &[("torch.compile(Attention(512, 8))", "Attention(512, 8)")],
        messages: &["`torch.compile(Attention(512, 8))` is missing."],
    },
    Answer {
        file: "block_before.py",
        what: "keeps one of the three",
        from: From::Solution,
        edits: &[(
            "        self.o_proj = ",
            "        self.v_proj = nn.Linear(width, width)\n        self.o_proj = ",
        )],
        messages: &["`q_proj`, `k_proj` or `v_proj` is still there."],
    },
    Answer {
        file: "quickstart_before.py",
        what: "removes the check instead of correcting it",
        from: From::Solution,
        edits: &[(
            "if torch.version.cuda is None and torch.version.hip is None:\n    raise SystemExit(\"no CUDA, nothing to run on\")\n",
            "",
        )],
        messages: &[
            "Nothing raises `SystemExit` any more",
            "checks neither `torch.version.hip` ",
        ],
    },
    Answer {
        file: "log_before.py",
        what: "takes the log from the other hosts",
        from: From::Start,
        edits: &[("[\"nvidia-smi\"]", "[\"amd-smi\", \"monitor\"]")],
        messages: &[
            "Nothing checks `torch.version.hip`.",
            "begins with `nvidia-smi` any more",
        ],
    },
];
