//! Reasons for which a host runs no job, with what to do about each.

use crate::python::PackageError;
use hipward_protocol::{Isolation, IsolationLevel, Missing};
use std::path::Path;

/// Why no job can run here, with the code in API errors.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// `no-torch`, `no-device`, `isolation-too-weak`.
    pub(crate) code: &'static str,
    /// What is missing.
    pub(crate) missing: Missing,
}

impl Refusal {
    /// PyTorch and devices are being searched for.
    pub(super) fn searching() -> Self {
        Refusal {
            code: "starting",
            missing: Missing {
                what: "PyTorch and devices".to_owned(),
                consequence: "The server has just started and is still searching for them."
                    .to_owned(),
                fix: "Try again in a few seconds".to_owned(),
            },
        }
    }

    /// The server runs no jobs itself, and no host has joined it.
    pub(super) fn no_host() -> Self {
        Refusal {
            code: "no-host",
            missing: Missing {
                what: "A host that runs jobs".to_owned(),
                consequence: "This server runs no jobs itself, and no host has joined it."
                    .to_owned(),
                fix: "Run `hipward worker --join URL --token-file FILE` on a host with a GPU"
                    .to_owned(),
            },
        }
    }

    /// PyTorch is being installed.
    pub(super) fn installing() -> Self {
        Refusal {
            code: "installing-torch",
            missing: Missing {
                what: "PyTorch".to_owned(),
                consequence: "`make serve` is still installing it. Lessons and playground work; benchmarks will \
                              as soon as it is installed."
                    .to_owned(),
                fix: "Wait for the installation, a download of about 2 GB, and reload this page".to_owned(),
            },
        }
    }

    /// The measuring package could not be written to disk.
    pub(super) fn no_package(error: &PackageError) -> Self {
        Refusal {
            code: "no-package",
            missing: Missing {
                what: "The measuring package".to_owned(),
                consequence: format!("Benchmarks cannot run here: {error}."),
                fix: "hipward serve --data /a/writable/folder".to_owned(),
            },
        }
    }

    /// No Python with PyTorch was found.
    pub(super) fn no_torch(missing: Missing) -> Self {
        Refusal {
            code: "no-torch",
            missing,
        }
    }

    /// The private directory of a worker cannot be created.
    pub(super) fn no_private_directory(error: &std::io::Error) -> Self {
        Self::no_torch(Missing {
            what: "A writable data folder".to_owned(),
            consequence: format!("The private directory of a worker cannot be created: {error}."),
            fix: "hipward serve --data /another/folder".to_owned(),
        })
    }

    /// Snippets may read `folder`, which contains the data folder.
    pub(super) fn data_readable(folder: &Path) -> Self {
        Refusal {
            code: "data-readable",
            missing: Missing {
                what: "A data folder outside of Python's folders".to_owned(),
                consequence: format!(
                    "Snippets may read {}, which contains the data folder, so no job is run.",
                    folder.display()
                ),
                fix: "hipward serve --data /another/folder".to_owned(),
            },
        }
    }

    /// Without Landlock nothing would restrict a worker that bypasses file permissions, so no job is run.
    pub(super) fn python_unreadable(folder: &Path) -> Self {
        Refusal {
            code: "python-unreadable",
            missing: Missing {
                what: "A Python that jobs can read".to_owned(),
                consequence: format!(
                    "Jobs run as a user without privileges, who cannot read {}. Without Landlock in the kernel they must \
                     not bypass file permissions, so no job is run.",
                    folder.display()
                ),
                fix: "Install Python and put --data where every user can read, such as /opt and /var/lib/hipward, or \
                       start Hipward as a user other than root"
                    .to_owned(),
            },
        }
    }

    /// A refusal if the isolation is weaker than the operator's minimum.
    pub(super) fn if_too_weak(isolation: &Isolation, minimum: IsolationLevel) -> Option<Self> {
        (isolation.level < minimum).then(|| Refusal {
            code: "isolation-too-weak",
            missing: Missing {
                what: format!("The isolation level `{}`", level_name(minimum)),
                consequence: format!(
                    "This host supports only `{}`, so no snippet is run. It lacks {}.",
                    level_name(isolation.level),
                    isolation.missing.join("; ")
                ),
                fix: format!(
                    "hipward serve --minimum-isolation {}",
                    level_name(isolation.level)
                ),
            },
        })
    }
}

/// The name of a level on the command line and in the API.
fn level_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Limits => "limits",
        IsolationLevel::Syscalls => "syscalls",
        IsolationLevel::Files => "files",
        IsolationLevel::Namespaces => "namespaces",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::{Host, Namespaces};

    #[test]
    fn runner_with_too_weak_isolation_refuses_with_a_reason() {
        let weak = Host {
            landlock_abi: None,
            seccomp: true,
            root: false,
            cgroup: false,
            namespaces: Namespaces::None("it is not installed".to_owned()),
        };
        let isolation = weak.isolation(None, None, None);
        let refusal = Refusal::if_too_weak(&isolation, IsolationLevel::Files).expect("is too weak");
        assert_eq!(refusal.code, "isolation-too-weak");
        assert!(refusal.missing.consequence.contains("files"), "{refusal:?}");
        assert!(Refusal::if_too_weak(&isolation, IsolationLevel::Syscalls).is_none());
    }
}
