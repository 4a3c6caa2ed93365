//! Jobs of KernelBench problems: how many end with a verdict, after how long, and what each variant gave.

use crate::content::csv::Table;
use crate::content::document::Section;
use leptos::prelude::*;

/// The heading's fragment, and the heading.
pub(super) const ID: &str = "kernelbench";
pub(super) const TITLE: &str = "KernelBench problems, unchanged";

/// The ids of the harness's devices.
const GPU: &str = "cuda:0";
const CPU: &str = "cpu";

/// The section of the page; nothing if no job on a GPU is recorded.
pub(super) fn section(all: &Table) -> Option<AnyView> {
    let rows = &all.matching("id", GPU);
    let summary = summaries(all)?;
    let [device, torch, triton, limit] = conditions(rows);
    Some(
        view! {
            <h2 id=ID>{TITLE}</h2>
            <p>
                "Problems of "
                <a href="https://github.com/ScalingIntelligence/KernelBench">"KernelBench"</a>
                ", submitted as they are, with the default settings. A problem has one input size; a factor of 1 over torch.compile means that torch.compile itself is the fastest variant. "
                {summary}
            </p>
            <p>
                {outcomes(rows)}
                " Attention routing gained in three problems of level 3, the fused cross-entropy in problem 95 of level 1. The fused softmax of problem 23 of level 1 was 1.2 % slower than the compiler's. In problems 34 and 38 of level 2, a fused LayerNorm or softmax would keep the compiler from joining it with the element-wise operations beside it; steps leave such calls to the compiler."
            </p>
            <p>
                {format!("In {} problems, torch.compile is rejected because", rejected(rows))}
                " its tensor layout for convolutions (channels last) makes cuDNN use TF32, and eager's layout does not: without TF32 its results pass. The same layout makes the depthwise convolution of problem 85 of level 1 six times as slow as eager: "
                <code>"layout_optimization=False"</code>
                " restores eager's time, measured on the same GPU."
            </p>
            {table(rows, "KernelBench problems")}
            <p class="hint">
                {format!(
                    "{device}, PyTorch {torch}, Triton {triton}, time limit of a job {limit} s. "
                )}
                <code>"python -m hipward_kernels.kernelbench --folder FOLDER"</code>" repeats it."
            </p>
            {on_cpu(&all.matching("id", CPU))}
        }
        .into_any(),
    )
}

/// The same jobs on hosts without a GPU; nothing if none is recorded.
fn on_cpu(rows: &Table) -> Option<AnyView> {
    let devices = rows.distinct("device").into_iter();
    let hosts: Vec<String> = devices
        .filter_map(|device| host(&rows.matching("device", device)))
        .collect();
    if hosts.is_empty() {
        return None;
    }
    let [_, torch, _, limit] = conditions(rows);
    Some(
        view! {
            <p>
                "On CPUs, with the default settings too. The problems have sizes for GPUs, and a job may use 8 GiB of memory. "
                {hosts.join(" ")}
            </p>
            {table(rows, "KernelBench problems on CPUs")}
            <p class="hint">
                {format!("PyTorch {torch}, time limit of a job {limit} s. ")}
                <code>"python -m hipward_kernels.kernelbench --device cpu --every 3 --folder FOLDER"</code>
                " repeats it."
            </p>
        }
        .into_any(),
    )
}

/// How the jobs of one CPU ended; nothing without a verdict.
fn host(rows: &Table) -> Option<String> {
    let verdicts = rows.matching("end", "verdict");
    let too_large = (0..rows.len())
        .filter(|row| rows.field(*row, "reason").starts_with("memory-limit"))
        .count();
    let others = match rows.matching("end", "reason").len() - too_large {
        0 => String::new(),
        others => format!(", {others} ended with another reason"),
    };
    Some(format!(
        "{}, {} cores: of {}, {too_large} need more memory{others}, and {} ended with a verdict. Of these, the {}",
        rows.distinct("device").join(", "),
        rows.distinct("cores").join(", "),
        rows.len(),
        verdicts.len(),
        times(&verdicts)?,
    ))
}

/// Device, PyTorch, Triton and time limit.
fn conditions(rows: &Table) -> [String; 4] {
    ["device", "torch", "triton", "wall_limit_s"].map(|column| rows.distinct(column).join(", "))
}

/// Each problem, closed at first.
fn table(rows: &Table, label: &'static str) -> AnyView {
    let lines: Vec<AnyView> = (0..rows.len()).map(|row| line(rows, row)).collect();
    view! {
        <details>
            <summary>{format!("Each problem ({})", rows.len())}</summary>
            <div class="scroll" tabindex="0" role="group" aria-label=label>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Problem"</th>
                            <th scope="col">"Device"</th>
                            <th scope="col">"Verdict after, s"</th>
                            <th scope="col">"Fastest"</th>
                            <th scope="col">"Over eager"</th>
                            <th scope="col">"Over torch.compile"</th>
                            <th scope="col">"Hipward’s step"</th>
                            <th scope="col">"Over torch.compile"</th>
                            <th scope="col">"Medians, ms"</th>
                            <th scope="col">"Not timed"</th>
                        </tr>
                    </thead>
                    <tbody>{lines}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

fn line(rows: &Table, row: usize) -> AnyView {
    let field = |column| rows.field(row, column).to_owned();
    let factor = |column| match rows.field(row, column) {
        "" => String::new(),
        factor => format!("{factor} ×"),
    };
    let result = match rows.field(row, "end") {
        "verdict" => field("not_timed"),
        _ => field("reason"),
    };
    view! {
        <tr>
            <th scope="row">{field("problem").trim_end_matches('_').replace('_', " ")}</th>
            <td>{short_name(rows.field(row, "device"))}</td>
            <td class="number">{field("seconds")}</td>
            <td>{field("fastest")}</td>
            <td class="number">{factor("over_eager")}</td>
            <td class="number">{factor("over_compile")}</td>
            <td>{field("step")}</td>
            <td class="number">{factor("step_over_compile")}</td>
            <td class="number">{field("times_ms")}</td>
            <td>{result}</td>
        </tr>
    }
    .into_any()
}

/// `H100` of `NVIDIA H100 80GB HBM3`, `Intel` of a processor's name.
fn short_name(device: &str) -> String {
    let mut words = device.split([' ', '(']);
    let first = words.next().unwrap_or(device);
    let is_gpu = first == "NVIDIA";
    words.next().filter(|_| is_gpu).unwrap_or(first).to_owned()
}

/// In how many problems the result of torch.compile was too far from the reference.
fn rejected(rows: &Table) -> usize {
    let is_rejected = |row: &usize| {
        rows.field(*row, "not_timed")
            .contains("compile: torch.compile is too far from the reference")
    };
    (0..rows.len()).filter(is_rejected).count()
}

/// How many problems a step of Hipward changed, and in how many it was faster than torch.compile.
fn outcomes(rows: &Table) -> String {
    let factors: Vec<f64> = (0..rows.len())
        .filter_map(|row| rows.field(row, "step_over_compile").parse().ok())
        .collect();
    let faster = factors.iter().filter(|factor| **factor > 1.0).count();
    format!(
        "In {} of {} problems a step of Hipward found something to replace and could be timed beside torch.compile; in {faster} of them the step was faster. In the others, torch.compile or eager is the fastest variant.",
        factors.len(),
        rows.len()
    )
}

/// The summary for each GPU.
pub(super) fn summaries(all: &Table) -> Option<String> {
    let rows = all.matching("id", GPU);
    let each: Vec<String> = rows
        .distinct("device")
        .into_iter()
        .filter_map(|device| {
            Some(format!(
                "{device}: {}",
                summary(&rows.matching("device", device))?
            ))
        })
        .collect();
    (!each.is_empty()).then(|| each.join(" "))
}

/// How many jobs ended with a verdict, and after how long.
fn summary(rows: &Table) -> Option<String> {
    let ended = |end| rows.matching("end", end).len();
    Some(format!(
        "Of {}, {} ended with a verdict and {} with a reason. The {}",
        rows.len(),
        ended("verdict"),
        ended("reason"),
        times(rows)?
    ))
}

/// How long the jobs took, as the rest of a sentence after "the".
fn times(rows: &Table) -> Option<String> {
    let count = rows.len();
    let mut seconds: Vec<f64> = (0..count)
        .filter_map(|row| rows.field(row, "seconds").parse().ok())
        .collect();
    seconds.sort_by(f64::total_cmp);
    let (last, median) = (*seconds.last()?, seconds[(seconds.len() - 1) / 2]);
    // The nearest rank.
    let late = seconds[(seconds.len() * 95).div_ceil(100) - 1];
    Some(format!(
        "median took {median:.0} s, 95 % took at most {late:.0} s, the longest {last:.0} s."
    ))
}

/// The text of the section, for the search.
pub(super) fn search_section(rows: &Table) -> Option<Section> {
    let mut section = Section {
        id: ID.to_owned(),
        title: TITLE.to_owned(),
        text: String::new(),
    };
    section.push(&summaries(rows)?);
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_a_cpu_are_counted_by_how_they_ended() {
        let rows = "device,cores,end,seconds,reason\nA,16,verdict,40,\nA,16,reason,3,memory-limit: x\nA,16,reason,2,y\n";
        assert_eq!(
            host(&Table::parse(rows)).as_deref(),
            Some(
                "A, 16 cores: of 3, 1 need more memory, 1 ended with another reason, and 1 ended with a verdict. Of these, the median took 40 s, 95 % took at most 40 s, the longest 40 s."
            )
        );
    }

    #[test]
    fn summary_counts_verdicts_and_gives_quantiles_of_the_time() {
        let rows = "problem,end,seconds\na,verdict,10\nb,verdict,30.4\nc,reason,20\n";
        assert_eq!(
            summary(&Table::parse(rows)).as_deref(),
            Some(
                "Of 3, 2 ended with a verdict and 1 with a reason. The median took 20 s, 95 % took at most 30 s, the longest 30 s."
            )
        );
        assert_eq!(summary(&Table::parse("problem\n")), None);
    }
}
