//! The state of the explorer, and what changes it.

use super::calls::{Describe, Description, Go, Start, Target, View, call};
use super::launch::{Argument, Kernel, LAUNCHES, OWN, Recorded, suggested};
use crate::browser::json;
use gloo_net::http::Request;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Most instructions of a run.
const BUDGET: u64 = 20_000_000;

/// The state of the explorer.
#[derive(Clone, Copy)]
pub(super) struct State {
    base: StoredValue<String>,
    /// The name of the chosen kernel.
    pub(super) choice: RwSignal<String>,
    /// The kernel that was run last.
    pub(super) kernel: RwSignal<Option<Kernel>>,
    pub(super) arguments: RwSignal<Vec<Argument>>,
    /// Grid and workgroup.
    pub(super) sizes: RwSignal<[[u64; 3]; 2]>,
    /// The state after the last instruction.
    pub(super) end: RwSignal<Option<View>>,
    /// The state that is shown.
    pub(super) view: RwSignal<Option<View>>,
    pub(super) error: RwSignal<String>,
    pub(super) registers_as: RwSignal<String>,
    pub(super) watched: RwSignal<String>,
    pub(super) lds_row: RwSignal<Option<usize>>,
    is_busy: StoredValue<bool>,
    /// A move that was requested during another one.
    next: StoredValue<Option<Target>>,
}

impl State {
    pub(super) fn new(base: String, first: Option<String>) -> Self {
        State {
            base: StoredValue::new(base),
            choice: RwSignal::new(first.unwrap_or_default()),
            kernel: RwSignal::new(None),
            arguments: RwSignal::new(Vec::new()),
            sizes: RwSignal::new([[1; 3]; 2]),
            end: RwSignal::new(None),
            view: RwSignal::new(None),
            error: RwSignal::new(String::new()),
            registers_as: RwSignal::new("hex".to_owned()),
            watched: RwSignal::new(String::new()),
            lds_row: RwSignal::new(None),
            is_busy: StoredValue::new(false),
            next: StoredValue::new(None),
        }
    }

    /// Selects another kernel.
    pub(super) fn choose(self, name: String) {
        self.choice.set(name);
        self.clear();
        self.kernel.set(None);
    }

    fn clear(self) {
        self.end.set(None);
        self.view.set(None);
        self.error.set(String::new());
    }

    /// Runs the chosen kernel to its end, and shows the state after its first instruction.
    pub(super) async fn run(self, own: &[Kernel]) {
        if self.is_busy.get_value() {
            return;
        }
        self.is_busy.set_value(true);
        self.clear();
        if let Err(sentence) = self.launch(own).await {
            self.error.set(sentence);
        }
        self.is_busy.set_value(false);
    }

    async fn launch(self, own: &[Kernel]) -> Result<(), String> {
        if self.kernel.with_untracked(Option::is_none) {
            self.load(own).await?;
        }
        let Some(kernel) = self.kernel.get_untracked() else {
            return Err("Choose a kernel.".to_owned());
        };
        let [grid, workgroup] = self.sizes.get_untracked();
        let start = Start {
            listing: kernel.listing,
            kernel: kernel.symbol,
            grid,
            workgroup,
            lds: kernel.lds,
            budget: BUDGET,
            arguments: self.arguments.get_untracked(),
        };
        call::<View>("start", &start).await?;
        let end: View = call("go", &self.request(Target::End)).await?;
        let first: View = call("go", &self.request(Target::Position(1))).await?;
        self.end.set(Some(end));
        self.view.set(Some(first));
        Ok(())
    }

    /// Loads the chosen kernel with its suggested launch.
    async fn load(self, own: &[Kernel]) -> Result<(), String> {
        let choice = self.choice.get_untracked();
        let found = if choice.starts_with(OWN) {
            own.iter().find(|kernel| kernel.name == choice).cloned()
        } else {
            let missing = "The recorded kernels did not load. Check the connection and try again.";
            let address = format!("{}{LAUNCHES}", self.base.get_value());
            let answer = Request::get(&address).send().await;
            let text = answer
                .map_err(|_| missing)?
                .text()
                .await
                .unwrap_or_default();
            let recorded: Recorded = json::parse(&text).ok_or(missing)?;
            let mut kernels = recorded.launches.into_iter();
            kernels.find(|kernel| kernel.name == choice)
        };
        let kernel = found.ok_or("Choose a kernel.")?;
        let arguments = if kernel.arguments.is_empty() {
            let describe = Describe {
                listing: kernel.listing.clone(),
                kernel: kernel.symbol.clone(),
            };
            let description: Description = call("describe", &describe).await?;
            suggested(&kernel, &description.arguments)
        } else {
            kernel.arguments.clone()
        };
        self.sizes.set([kernel.grid, kernel.workgroup]);
        self.arguments.set(arguments);
        self.kernel.set(Some(kernel));
        Ok(())
    }

    fn request(self, to: Target) -> Go {
        Go {
            to,
            registers_as: self.registers_as.get_untracked(),
            watched: self.watched.get_untracked(),
            lds_row: self.lds_row.get_untracked(),
        }
    }

    /// Moves to an instruction.
    pub(super) fn go(self, to: Target) {
        if self.is_busy.get_value() {
            self.next.set_value(Some(to));
            return;
        }
        self.is_busy.set_value(true);
        spawn_local(async move {
            let mut to = Some(to);
            while let Some(target) = to {
                match call("go", &self.request(target)).await {
                    Ok(view) => self.view.set(Some(view)),
                    Err(sentence) => self.error.set(sentence),
                }
                to = self.next.get_value();
                self.next.set_value(None);
            }
            self.is_busy.set_value(false);
        });
    }

    /// The number of instructions that were executed.
    pub(super) fn position(self) -> u64 {
        self.view
            .with_untracked(|view| view.as_ref().map_or(0, |view| view.position))
    }

    /// Shows the same instruction in another way.
    pub(super) fn refresh(self) {
        self.go(Target::Position(self.position()));
    }
}
