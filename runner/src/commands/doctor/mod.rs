//! `hipward doctor`: reports what this host has and lacks, and how to fix it.

mod compilers;

use super::{
    host::{HostArgs, Senders},
    temporary_folder::temporary_folder,
};
use crate::{
    devices,
    isolation::{Host, NO_CGROUP, NO_NAMESPACES},
    jobs::Runner,
    web::assets::{Assets, MANIFEST},
};
use hipward_hip::HipError;
use hipward_protocol::{IsolationLevel, Missing};
use std::{error::Error, fs::OpenOptions, path::Path, process::ExitCode};

/// Arguments of `hipward doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    host: HostArgs,
}

/// One line of the report.
#[derive(Debug)]
enum Finding {
    /// It is available.
    Has(String),
    /// It is missing, and something works less well without it.
    Lacks(Missing),
    /// It is missing, and benchmarks do not work without it.
    Needs(Missing),
}

/// Prints the report. Fails if benchmarks cannot run.
pub(crate) fn run(args: Args) -> ExitCode {
    match examine(args) {
        Ok(findings) => {
            let mut well = true;
            for finding in findings {
                let (mark, missing) = match finding {
                    Finding::Has(what) => {
                        println!("has    {what}");
                        continue;
                    }
                    Finding::Lacks(missing) => ("lacks", missing),
                    Finding::Needs(missing) => {
                        well = false;
                        ("NEEDS", missing)
                    }
                };
                println!(
                    "{mark}  {}\n         {}\n         fix: {}",
                    missing.what, missing.consequence, missing.fix
                );
            }
            if well {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("hipward doctor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn examine(args: Args) -> Result<Vec<Finding>, Box<dyn Error>> {
    // A server may use the default data folder.
    let folder = temporary_folder()?;
    let settings = args
        .host
        .settings(folder.path().to_owned(), Senders::Operator)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let host = Host::detect(settings.mechanisms);
    let runner = runtime.block_on(Runner::discover(settings, host))?;
    let capabilities = runner.capabilities();

    let mut findings = Vec::new();
    let rank = if capabilities.ready {
        Finding::Lacks
    } else {
        Finding::Needs
    };
    findings.extend(capabilities.missing.into_iter().map(rank));
    if let Some(torch) = capabilities.torch {
        findings.push(Finding::Has(format!("PyTorch {torch}")));
    }
    for device in &capabilities.devices {
        findings.push(Finding::Has(format!(
            "device {}: {} ({}, {:.1} GiB)",
            device.id,
            device.name,
            device.arch,
            device.memory_bytes as f64 / f64::from(1 << 30)
        )));
    }
    // Starts real workers, because their sandbox, limits and import of PyTorch cannot be checked otherwise.
    for device in &capabilities.devices {
        findings.push(match runtime.block_on(runner.test_worker(device)) {
            Ok(()) => Finding::Has(format!("a worker for {}", device.id)),
            Err(error) => Finding::Needs(Missing {
                what: format!("a worker for {}", device.id),
                consequence: format!("It could not be started, so no job runs there: {error}."),
                fix:
                    "fix the cause in the message, or choose another Python with `hipward serve --python PATH`"
                        .to_owned(),
            }),
        });
    }
    findings.extend(amd());
    findings.extend(hip());
    findings.push(compilers::host());
    findings.push(compilers::amd());
    findings.push(if Assets::get(MANIFEST).is_some() {
        Finding::Has("browser assets".to_owned())
    } else {
        Finding::Lacks(Missing {
            what: "browser assets".to_owned(),
            consequence: "Pages are shown without style, playground and live results.".to_owned(),
            fix: "make build".to_owned(),
        })
    });
    let isolation = capabilities.isolation;
    findings.push(Finding::Has(format!(
        "isolation: {}",
        isolation.mechanisms.join(", ")
    )));
    findings.extend(isolation.missing.into_iter().map(|missing| {
        Finding::Lacks(Missing {
            what: "isolation".to_owned(),
            fix: isolation_fix(&missing, isolation.level).to_owned(),
            consequence: missing,
        })
    }));
    Ok(findings)
}

/// What to do about a missing part of the isolation.
fn isolation_fix(missing: &str, level: IsolationLevel) -> &'static str {
    if missing.starts_with(NO_NAMESPACES) {
        "sudo apt-get install bubblewrap; if it is installed, permit user namespaces: \
         sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, --security-opt seccomp=unconfined in a container"
    } else if missing == NO_CGROUP {
        "start the server as a systemd unit with Delegate=yes, such as the one in runner/deploy/systemd"
    } else if level >= IsolationLevel::Files {
        // Newer Linux releases support more restrictions.
        "sudo apt-get install -t bookworm-backports linux-image-amd64, or another way to a newer Linux; then restart"
    } else {
        "add lsm=landlock to what Linux is started with (GRUB_CMDLINE_LINUX in /etc/default/grub), sudo update-grub, restart; \
         in a container: allow the system calls of Landlock and seccomp"
    }
}

/// AMD GPUs in the kernel's list, and whether this user may use them.
fn amd() -> Vec<Finding> {
    let gpus = devices::gpus(Path::new("/sys"));
    if gpus.is_empty() {
        return vec![Finding::Lacks(Missing {
            what: "an AMD GPU".to_owned(),
            consequence: "The kernel's AMD driver lists none, so benchmarks run on other devices."
                .to_owned(),
            fix: "sudo modprobe amdgpu, on an AMD host".to_owned(),
        })];
    }
    let mut findings: Vec<Finding> = gpus
        .iter()
        .map(|gpu| {
            Finding::Has(format!(
                "an AMD GPU: {} (renderD{})",
                gpu.arch, gpu.render_minor
            ))
        })
        .collect();
    let nodes = gpus
        .iter()
        .map(|gpu| format!("/dev/dri/renderD{}", gpu.render_minor));
    for node in nodes.chain(["/dev/kfd".to_owned()]) {
        if OpenOptions::new()
            .read(true)
            .write(true)
            .open(&node)
            .is_err()
        {
            findings.push(Finding::Lacks(Missing {
                what: format!("access to {node}"),
                consequence: "PyTorch cannot use the GPU as this user.".to_owned(),
                fix: "sudo usermod -aG render,video $USER, then log in again".to_owned(),
            }));
        }
    }
    findings
}

/// The HIP runtime of ROCm. None on a host without an AMD GPU and without the runtime. PyTorch for ROCm includes its own.
fn hip() -> Option<Finding> {
    let (what, consequence) = match hipward_hip::runtime() {
        Ok(hip) => {
            let gpus = hip.devices.iter().map(|device| {
                let memory = device.memory_bytes as f64 / f64::from(1 << 30);
                format!("{} ({memory:.1} GiB)", device.name)
            });
            let gpus: Vec<String> = gpus.collect();
            return Some(Finding::Has(format!(
                "the HIP runtime {}, which sees {}",
                hip.version,
                if gpus.is_empty() {
                    "no GPU".to_owned()
                } else {
                    gpus.join(", ")
                }
            )));
        }
        Err(HipError::Absent) if devices::gpus(Path::new("/sys")).is_empty() => return None,
        Err(HipError::Absent) => (
            "the HIP runtime".to_owned(),
            "ROCm is not installed. PyTorch for ROCm includes the libraries that it needs."
                .to_owned(),
        ),
        Err(error) => ("a HIP runtime that works".to_owned(), format!("{error}.")),
    };
    Some(Finding::Lacks(Missing {
        what,
        consequence,
        fix: "sudo apt-get install rocm-hip-runtime-dev, from AMD's package repository".to_owned(),
    }))
}
