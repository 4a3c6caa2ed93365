//! Finds the Python to use, the folders of its files, and the devices that its PyTorch sees.

use super::installation::installed_python;
use crate::devices::CUDA_ORDER;
use hipward_protocol::{Device, Missing, Variant};
use serde::Deserialize;
use std::{
    env, fs, io,
    os::unix::{fs::MetadataExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};
use tokio::{
    process::Command,
    time::{sleep, timeout},
};

/// Importing PyTorch and starting a GPU runtime takes long on a cold disk.
const PROBE_TIMEOUT: Duration = Duration::from_secs(180);

/// Environment variables that are passed from the operator to the worker: they choose devices, find
/// libraries and switch optimizations, and contain no secrets.
const PASSED_ON: &[&str] = &[
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "FORCE_EAGER_ATTENTION",
    "GEMM_M_THRESHOLD",
    "GPU_DEVICE_ORDINAL",
    "HIPWARD_DISABLE",
    "HIP_PATH",
    "HIP_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PRESHUFFLE_M_THRESH",
    "ROCM_HOME",
    "ROCM_PATH",
    "ROCR_VISIBLE_DEVICES",
    "TORCH_COMPILE_MODE",
    "TRITON_LIBHIP_PATH",
    "USE_AITER_ATTENTION",
    "USE_AITER_GEMM",
    "USE_FUSED_PROJECTIONS",
    "USE_OPTIMIZED_OPS",
];

/// A Python interpreter, not necessarily with PyTorch.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    /// The program.
    pub(crate) executable: PathBuf,
    /// The folders of its files.
    pub(crate) folders: Vec<PathBuf>,
    user_base: Option<String>,
}

/// The output of `hipward_kernels.harness.probe`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Probe {
    /// PyTorch's version.
    pub(crate) torch: Option<String>,
    /// The version of the HIP runtime that PyTorch was built with.
    #[serde(default)]
    pub(crate) hip: Option<String>,
    /// The compiler for HIP sources.
    #[serde(default)]
    pub(crate) hip_compiler: Option<String>,
    /// Devices it can run on.
    #[serde(default)]
    pub(crate) devices: Vec<Device>,
    /// Variants that it can measure.
    #[serde(default)]
    pub(crate) variants: Vec<Variant>,
}

/// The output of `LOCATE`.
#[derive(Deserialize)]
struct Located {
    /// May differ from the program that was started, which may be a wrapper.
    executable: PathBuf,
    folders: Vec<PathBuf>,
    user_base: Option<String>,
}

/// Attempts to run a probe that is killed.
const MAX_KILLED: u32 = 5;
/// Delay before a probe that was killed is run again.
const KILLED_RETRY: Duration = Duration::from_millis(300);

const LOCATE: &str = "
import json, os, site, sys
folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
folders += [os.path.dirname(os.path.realpath(sys.executable))]
folders += [path for path in sys.path if path]
user_base = site.getuserbase() if site.ENABLE_USER_SITE else None
print(json.dumps({'executable': sys.executable, 'folders': folders, 'user_base': user_base}))
";

/// Opens the files that a worker needs.
pub(crate) const READS_ITS_FILES: &str = "
import importlib.util, os, sys
folders = [path for path in sys.path if os.path.isdir(path)]
for name in ('hipward_kernels', 'torch'):
    found = importlib.util.find_spec(name)
    if found is not None and found.origin:
        folders += [os.path.dirname(found.origin), os.path.join(os.path.dirname(found.origin), 'lib')]
for folder in folders:
    if os.path.isdir(folder):
        for entry in os.scandir(folder):
            if entry.is_file():
                open(entry.path, 'rb').close()
open(os.path.join(os.environ['HOME'], 'tmp', 'probe'), 'w').close()
";

/// Continues [`READS_ITS_FILES`]: uses the only GPU that a worker sees.
pub(crate) const USES_ITS_GPU: &str = "
if importlib.util.find_spec('torch') is not None:
    import torch
    torch.zeros(1, device='cuda').cpu()
";

/// Repeats a process that was killed by a signal, such as by the kernel when memory was short. Its end says nothing about
/// Python then.
async fn unless_killed(command: impl Fn() -> Command) -> io::Result<Output> {
    let mut attempt = 1;
    loop {
        let output = command().output().await?;
        if output.status.signal().is_none() || attempt == MAX_KILLED {
            return Ok(output);
        }
        attempt += 1;
        sleep(KILLED_RETRY).await;
    }
}

/// The Python to use: the one that was passed, else the one that the set-up installed, else the system's.
pub(crate) fn find(asked: Option<PathBuf>) -> PathBuf {
    asked
        .or_else(|| env::var_os("HIPWARD_PYTHON").map(PathBuf::from))
        .or_else(|| {
            let installed = installed_python()?;
            installed.exists().then_some(installed)
        })
        .unwrap_or_else(|| PathBuf::from("python3"))
}

impl Interpreter {
    /// Locates the files of a Python.
    pub(crate) async fn locate(executable: PathBuf) -> Result<Self, Missing> {
        let output = Command::new(&executable)
            .args(["-P", "-c", LOCATE])
            .env_remove(crate::TOKEN_VARIABLE)
            .env_remove(crate::DATABASE_VARIABLE)
            // Jobs do not get this variable, so they need not read its folders, which may be the operator's home.
            .env_remove("PYTHONPATH")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let answer = match timeout(PROBE_TIMEOUT, output).await {
            Ok(Ok(output)) => serde_json::from_slice::<Located>(&output.stdout).ok(),
            Ok(Err(_)) | Err(_) => None,
        };
        let Some(located) = answer else {
            return Err(Missing {
                what: "Python 3.11 or newer".to_owned(),
                consequence: format!(
                    "`{}` does not run, so benchmarks cannot run here.",
                    executable.display()
                ),
                fix: "hipward serve --python /path/to/python".to_owned(),
            });
        };
        let mut folders = located.folders;
        folders.retain(|folder| folder.exists() && folder.parent().is_some());
        folders.sort();
        folders.dedup();
        Ok(Interpreter {
            executable: located.executable,
            folders,
            user_base: located.user_base,
        })
    }

    /// Queries its PyTorch for devices. `package` is the folder that contains the measuring package,
    /// `home` a writable folder.
    pub(crate) async fn probe(&self, package: &Path, home: &Path) -> Result<Probe, Missing> {
        let output = unless_killed(|| {
            let mut command = Command::new(&self.executable);
            command
                .args(["-P", "-m", "hipward_kernels.harness.host_probe"])
                .env_clear()
                .envs(self.environment(package, home))
                .stdin(Stdio::null())
                .kill_on_drop(true);
            command
        });
        let no_torch = |consequence: String| Missing {
            what: "PyTorch".to_owned(),
            consequence,
            fix: "Run `make serve`, which installs one, or name a Python that has it: \
                   HIPWARD_PYTHON=/path/to/python"
                .to_owned(),
        };
        let program = self.executable.display();
        let output = match timeout(PROBE_TIMEOUT, output).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(no_torch(format!("`{program}` does not run: {error}."))),
            Err(_) => {
                return Err(no_torch(format!(
                    "`{program}` took too long to import PyTorch."
                )));
            }
        };
        let answer = serde_json::from_slice::<Probe>(&output.stdout);
        match answer {
            Ok(probe) if probe.torch.is_some() => Ok(probe),
            Ok(_) => Err(no_torch(format!(
                "`{program}` has no PyTorch, so benchmarks cannot run here; everything else does."
            ))),
            Err(_) => {
                let errors = String::from_utf8_lossy(&output.stderr);
                let last = errors.lines().last().unwrap_or("it printed nothing");
                Err(no_torch(format!("The probe of `{program}` failed: {last}")))
            }
        }
    }

    /// Whether a process of this user, without privileges, can run it with the package and read the files that it needs.
    pub(crate) async fn is_readable_by(&self, user: u32, package: &Path, home: &Path) -> bool {
        let output = unless_killed(|| {
            let mut command = Command::new(&self.executable);
            command
                .args(["-P", "-c", READS_ITS_FILES])
                .env_clear()
                .envs(self.environment(package, home))
                .current_dir(home)
                .uid(user)
                .gid(user)
                .stdin(Stdio::null())
                .kill_on_drop(true);
            command
        });
        matches!(timeout(PROBE_TIMEOUT, output).await, Ok(Ok(output)) if output.status.success())
    }

    /// The first parent folder of its files that other users cannot access.
    pub(crate) fn closed_folder(&self, package: &Path, home: &Path) -> Option<PathBuf> {
        // The last is the user's own.
        let homes = home.parent().unwrap_or(home);
        let files = [self.executable.as_path(), package, homes].into_iter();
        let mut ways = files.chain(self.folders.iter().map(PathBuf::as_path));
        ways.find_map(|path| {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let mut way: Vec<&Path> = path.ancestors().collect();
            way.reverse();
            let is_closed = |folder: &Path| {
                fs::metadata(folder).is_ok_and(|metadata| metadata.mode() & 0o001 == 0)
            };
            way.into_iter()
                .find(|folder| is_closed(folder))
                .map(Path::to_owned)
        })
    }

    /// The environment of a worker, which may write to `home` only.
    pub(crate) fn environment(&self, package: &Path, home: &Path) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let bin = self.executable.parent().unwrap_or(Path::new("/usr/bin"));
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin:/opt/rocm/bin",
            bin.display()
        );
        let cache = home.join("cache");
        let mut environment: Vec<(String, String)> = [
            ("PATH", path),
            ("HOME", text(home)),
            ("USER", "hipward".to_owned()),
            ("LOGNAME", "hipward".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TMPDIR", text(&home.join("tmp"))),
            ("XDG_CACHE_HOME", text(&cache)),
            ("TORCHINDUCTOR_CACHE_DIR", text(&cache.join("inductor"))),
            ("TRITON_CACHE_DIR", text(&cache.join("triton"))),
            // Compile in the process itself: helpers would each import PyTorch first.
            ("TORCHINDUCTOR_COMPILE_THREADS", "1".to_owned()),
            ("PYTHONPATH", text(package)),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("PYTHONUNBUFFERED", "1".to_owned()),
            ("PYTHONUTF8", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if let Some(base) = &self.user_base {
            // HOME is another one in there, and PyTorch may be installed for the user alone.
            environment.push(("PYTHONUSERBASE".to_owned(), base.clone()));
        }
        let passed = PASSED_ON
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?)));
        environment.extend(passed);
        if env::var_os(CUDA_ORDER.0).is_none() {
            environment.push((CUDA_ORDER.0.to_owned(), CUDA_ORDER.1.to_owned()));
        }
        environment
    }

    /// Folders that a worker must be able to read, besides the system's folders.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        let libraries = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let named = ["ROCM_PATH", "ROCM_HOME", "HIP_PATH", "CUDA_HOME"];
        self.folders
            .iter()
            .cloned()
            .chain(env::split_paths(&libraries))
            .chain(named.iter().filter_map(env::var_os).map(PathBuf::from))
            .filter(|path| path.is_absolute() && path.parent().is_some())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The probe with a program in place of Python, and the number of times that it was started.
    async fn probe(program: &str) -> (Result<Probe, Missing>, usize) {
        let home = tempfile::tempdir().expect("a folder");
        let executable = home.path().join("python");
        let text = format!("#!/bin/sh\necho start >> \"$HOME/starts\"\n{program}\n");
        fs::write(&executable, text).expect("is written");
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).expect("is ours");
        let interpreter = Interpreter {
            executable,
            folders: Vec::new(),
            user_base: None,
        };
        let found = interpreter.probe(home.path(), home.path()).await;
        let starts = fs::read_to_string(home.path().join("starts")).expect("was started");
        (found, starts.lines().count())
    }

    #[tokio::test]
    async fn killed_probe_is_repeated_and_a_failing_one_is_not() {
        let once = r#"[ $(wc -l < "$HOME/starts") = 1 ] && kill -9 $$; echo '{"torch": "2"}'"#;
        let (found, starts) = probe(once).await;
        assert_eq!(found.expect("it answers").torch.as_deref(), Some("2"));
        assert_eq!(starts, 2);
        let (found, starts) = probe("kill -9 $$").await;
        assert!(found.is_err());
        assert_eq!(starts, MAX_KILLED as usize);
        let (found, starts) = probe("exit 1").await;
        assert!(found.is_err());
        assert_eq!(starts, 1);
    }
}
