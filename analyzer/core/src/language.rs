//! Determines the language of a source, from the file name or from the content.

use crate::report::Language;

impl Language {
    /// The language of a file by its name; `None` if the analyzer does not support such files.
    ///
    /// Both kinds of slash separate the parts of a path.
    pub fn of_path(path: &str) -> Option<Language> {
        let mut parts = path.rsplit(['/', '\\']);
        let name = parts.next().unwrap_or(path);
        let folder = parts.next().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let has = |part: &str| lower.contains(part);
        let extension = lower
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension);
        let language = match extension {
            "py" | "pyi" => Language::Python,
            "ipynb" => Language::Notebook,
            "cu" | "cuh" | "cpp" | "cc" | "cxx" | "h" | "hpp" | "hxx" | "hh" | "inl" => {
                Language::CudaCpp
            }
            "cmake" => Language::Cmake,
            "mk" | "mak" => Language::Makefile,
            // Scripts for Windows are not for ROCm.
            "sh" | "bash" if has("windows") || has("win32") => return None,
            "sh" | "bash" | "env" | "slurm" | "sbatch" => Language::Shell,
            "yml" | "yaml" => Language::Yaml,
            "md" | "mdx" | "markdown" | "rst" => Language::Document,
            // `def` is Apptainer's.
            "dockerfile" | "def" => Language::Dockerfile,
            "txt" if lower == "cmakelists.txt" => Language::Cmake,
            "txt" | "in" if has("requirement") || has("constraint") => Language::Requirements,
            "txt" if matches!(&*lower, "req.txt" | "reqs.txt") => Language::Requirements,
            // `requirements/gpu.txt`
            "txt" | "in" if folder == "requirements" => Language::Requirements,
            // Projects have variants of this file: `pyproject_cpu.toml`.
            "toml" if lower.starts_with("pyproject") => Language::Pyproject,
            "cfg" if lower == "setup.cfg" => Language::Pyproject,
            // Lock files in the same format, also `pylock.dev.toml`.
            "lock" if matches!(&*lower, "uv.lock" | "poetry.lock" | "pdm.lock") => {
                Language::Pyproject
            }
            "toml" if lower == "pixi.toml" || lower.starts_with("pylock.") => Language::Pyproject,
            _ if matches!(&*lower, "pipfile" | "pipfile.lock") => Language::Pyproject,
            _ if has("dockerfile") || has("containerfile") || lower == "singularity" => {
                Language::Dockerfile
            }
            _ if matches!(&*lower, "makefile" | "gnumakefile") => Language::Makefile,
            _ if lower == ".env" || lower.starts_with(".env.") => Language::Shell,
            _ => return None,
        };
        Some(language)
    }

    /// The language whose rules check such files: a document's commands are checked as shell.
    pub fn checked_as(self) -> Language {
        match self {
            Language::Document => Language::Shell,
            other => other,
        }
    }

    /// The most likely language of `source`; Python if there is no evidence for another.
    pub fn of_content(source: &str) -> Language {
        if source.trim_start().starts_with('{') && source.contains("\"cells\"") {
            return Language::Notebook;
        }
        if source.starts_with("#!") {
            let first = source.lines().next().unwrap_or_default();
            return if first.ends_with("sh") {
                Language::Shell
            } else {
                Language::Python
            };
        }
        // The first line that is specific to a language decides; lines before it may be comments in any language.
        for line in source.lines().take(MOST_LINES) {
            let line = line.trim();
            let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
            if starts(&[
                "#include",
                "#pragma",
                "#ifndef",
                "#ifdef",
                "__global__",
                "__device__",
                "template <",
                "template<",
            ]) || line.contains("<<<") && line.contains(">>>(")
            {
                return Language::CudaCpp;
            }
            if starts(&["FROM ", "ARG "]) {
                return Language::Dockerfile;
            }
            if starts(&["cmake_minimum_required", "find_package("]) {
                return Language::Cmake;
            }
            if starts(&["[build-system]", "[project]", "[tool."]) {
                return Language::Pyproject;
            }
            if starts(&["--index-url", "--extra-index-url", "--find-links", "-r "]) || is_pin(line)
            {
                return Language::Requirements;
            }
            if starts(&[
                "services:",
                "jobs:",
                "channels:",
                "dependencies:",
                "apiVersion:",
            ]) {
                return Language::Yaml;
            }
            if starts(&["export ", "pip install ", "docker ", "sudo ", "apt-get "]) {
                return Language::Shell;
            }
            if starts(&["import ", "from ", "def ", "class ", "@", "\"\"\""]) {
                return Language::Python;
            }
        }
        Language::Python
    }
}

/// `torch==2.4.0`: a comparison in Python, which is never written as a statement.
fn is_pin(line: &str) -> bool {
    let Some((name, version)) = line.split_once("==") else {
        return false;
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.[]".contains(&byte);
    version.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(is_name)
}

/// Many files begin with a license; later lines are not checked.
const MOST_LINES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_determines_the_language() {
        for (path, language) in [
            ("train.py", Some(Language::Python)),
            ("a/b/setup.py", Some(Language::Python)),
            ("demo.ipynb", Some(Language::Notebook)),
            ("csrc\\kernel.CU", Some(Language::CudaCpp)),
            ("requirements-dev.txt", Some(Language::Requirements)),
            ("docker/req.txt", Some(Language::Requirements)),
            ("docker/Dockerfile.cuda", Some(Language::Dockerfile)),
            ("CMakeLists.txt", Some(Language::Cmake)),
            ("requirements/gpu.txt", Some(Language::Requirements)),
            ("docs/gpu.txt", None),
            ("hpc/train.def", Some(Language::Dockerfile)),
            ("hpc/train.slurm", Some(Language::Shell)),
            ("ci/cu121-Windows.sh", None),
            ("src/Makefile", Some(Language::Makefile)),
            ("rules.mk", Some(Language::Makefile)),
            ("Makefile.am", None),
            (".env", Some(Language::Shell)),
            ("python/pyproject_other.toml", Some(Language::Pyproject)),
            ("setup.cfg", Some(Language::Pyproject)),
            ("pixi.toml", Some(Language::Pyproject)),
            ("app/Pipfile", Some(Language::Pyproject)),
            ("Pipfile.lock", Some(Language::Pyproject)),
            ("environment.yml", Some(Language::Yaml)),
            ("docs/INSTALL.MD", Some(Language::Document)),
            ("docs/install.rst", Some(Language::Document)),
            ("notes.txt", None),
            ("weights.safetensors", None),
            ("Cargo.toml", None),
        ] {
            assert_eq!(Language::of_path(path), language, "{path}");
        }
    }

    #[test]
    fn text_determines_the_language_without_a_name() {
        for (source, language) in [
            ("", Language::Python),
            ("x = 1\n", Language::Python),
            ("{\"cells\": []}", Language::Notebook),
            ("// c\n#include <cuda_runtime.h>\n", Language::CudaCpp),
            ("__global__ void k() {}\n", Language::CudaCpp),
            ("FROM nvidia/cuda:12.4\n", Language::Dockerfile),
            ("#!/usr/bin/env bash\nmake\n", Language::Shell),
            ("#!/usr/bin/env python3\nFROM = 1\n", Language::Python),
            ("import x\nfind_package(CUDA)\n", Language::Python),
            (
                "# pins\nnumpy\ntorch==2.4.0+cu124\n",
                Language::Requirements,
            ),
            ("if x == 1:\n    y\n", Language::Python),
            ("name: train\nchannels:\n  - nvidia\n", Language::Yaml),
            ("docker run --gpus all a\n", Language::Shell),
        ] {
            assert_eq!(Language::of_content(source), language, "{source:?}");
        }
    }
}
