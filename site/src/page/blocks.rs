//! The blocks of a lesson as HTML.

use super::exercise;
use crate::content::block::{Bench, Block, Claim, ClaimVerdict, Code, Statement, Try};
use crate::content::csv::Table;
use crate::content::document::{code_figure, inline, plain};
use crate::content::figure::Figure;
use crate::content::highlight::highlight;
use crate::content::question::{PredictedAnswer, Prediction, Quiz, QuizOption};
use crate::content::transcript::Transcript;
use crate::content::{Lesson, Part};
use crate::diff::DiffTable;
use crate::escape::escape;
use crate::playground::{ExerciseLink, lesson_fragment};
use crate::site::bench_id;
use crate::{Route, Site};
use hipward_analyzer_core::Language;
use leptos::prelude::*;

/// One block of a lesson.
pub(super) fn html(site: &Site, part: &Part, lesson: &Lesson, block: &Block) -> String {
    match block {
        Block::Code(block) => code(block),
        Block::Diff { caption, lines } => {
            view! { <DiffTable caption=caption.clone() lines=lines.clone() /> }.to_html()
        }
        Block::Try(block) => task(site, &part.address(lesson), block).to_html(),
        Block::Bench(block) => bench(site, &lesson.slug, block).to_html(),
        Block::Quiz(block) => quiz(site, block).to_html(),
        Block::Predict(block) => prediction(site, block).to_html(),
        Block::Claim(block) => claim(site, block).to_html(),
        Block::Figure(block) => figure(site, block).to_html(),
        Block::Run(block) => transcript(block).to_html(),
        Block::Write(block) => exercise::view(site, part, lesson, block).to_html(),
    }
}

/// Code to read and copy.
pub(super) fn code(code: &Code) -> String {
    code_figure(code.caption.as_deref(), &code.language, &code.html)
}

pub(super) fn python(caption: Option<&str>, source: &str) -> String {
    code_figure(caption, "python", &highlight(source, "python"))
}

/// A program without a caption, in a language of code fences.
pub(super) fn program(language: &str, source: &str) -> String {
    code_figure(None, language, &highlight(source, language))
}

/// The address of the playground with a text in it.
pub(super) fn playground_href(
    site: &Site,
    text: &str,
    exercise: Option<ExerciseLink<'_>>,
) -> String {
    playground_href_in(site, text, Language::Python, exercise)
}

/// The same for a text in any language.
pub(super) fn playground_href_in(
    site: &Site,
    text: &str,
    language: Language,
    exercise: Option<ExerciseLink<'_>>,
) -> String {
    format!(
        "{}#{}",
        site.href(&Route::Playground),
        lesson_fragment(text, language, exercise)
    )
}

fn task(site: &Site, lesson: &str, block: &Try) -> AnyView {
    let exercise = ExerciseLink {
        task: &block.task,
        conditions: &block.exercise,
        lesson,
    };
    let href = playground_href(site, &block.code, Some(exercise));
    let solution = block.solution.as_ref().map(|source| {
        view! {
            <details>
                <summary>"One solution"</summary>
                <div inner_html=python(None, source)></div>
            </details>
        }
    });
    view! {
        <div class="block try" role="group" aria-label="Try it">
            <p class="block-title">"Try it"</p>
            <p inner_html=inline(&block.task, site.base())></p>
            <div inner_html=python(None, &block.code)></div>
            <p><a class="button primary" href=href>"Solve it in the playground"</a></p>
            {solution}
        </div>
    }
    .into_any()
}

fn bench(site: &Site, lesson: &str, block: &Bench) -> AnyView {
    let send = format!(
        "{}#example={}",
        site.href(&Route::Benchmark),
        bench_id(lesson, block)
    );
    let open = playground_href(site, &block.code, None);
    let title_id = format!("title-{}", bench_id(lesson, block));
    view! {
        <div class="block bench" role="group" aria-labelledby=title_id.clone()>
            <p class="block-title" id=title_id.clone()>"Benchmark: "<span inner_html=inline(&block.title, site.base())></span></p>
            <p inner_html=inline(&block.note, site.base())></p>
            <details>
                <summary>"The snippet"</summary>
                <div inner_html=python(Some(&block.file), &block.code)></div>
            </details>
            {results(site, &block.results)}
            <p class="actions">
                <a class="button primary" href=send>"Run it on this site's runner"</a>
                <a class="button" href=open>"Open it in the playground"</a>
            </p>
        </div>
    }
    .into_any()
}

/// Recorded rows, each with all its conditions.
fn results(site: &Site, ids: &[String]) -> Option<AnyView> {
    let results = &site.content.results;
    if ids.is_empty() {
        return None;
    }
    let head: Vec<AnyView> = results
        .columns
        .iter()
        .map(|column| view! { <th scope="col">{column.replace('_', " ")}</th> }.into_any())
        .collect();
    let rows: Vec<AnyView> = ids
        .iter()
        .filter_map(|id| results.row(id))
        .map(|row| {
            let cells: Vec<AnyView> = row
                .iter()
                .map(|field| view! { <td>{field.clone()}</td> }.into_any())
                .collect();
            view! { <tr>{cells}</tr> }.into_any()
        })
        .collect();
    Some(
        view! {
            <div class="scroll" tabindex="0" role="group" aria-label="Recorded results">
                <table>
                    <caption>"Recorded results"</caption>
                    <thead><tr>{head}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any(),
    )
}

fn quiz(site: &Site, quiz: &Quiz) -> AnyView {
    let options: Vec<AnyView> = quiz
        .option
        .iter()
        .map(|option| {
            let (class, word) = verdict(option);
            view! {
                <details class=class>
                    <summary inner_html=inline(&option.text, site.base())></summary>
                    <p><strong>{word}</strong><span inner_html=inline(&option.why, site.base())></span></p>
                </details>
            }
            .into_any()
        })
        .collect();
    let key = quiz.key();
    let question_id = format!("question-{key}");
    view! {
        <div class="block quiz" data-question=key role="group" aria-labelledby=question_id.clone()>
            <p class="block-title">"Check yourself"</p>
            <p id=question_id.clone() inner_html=inline(&quiz.question, site.base())></p>
            {options}
        </div>
    }
    .into_any()
}

/// Class and first word of an option's explanation.
fn verdict(option: &QuizOption) -> (&'static str, &'static str) {
    if option.correct {
        ("right", "Right. ")
    } else {
        ("wrong", "Not quite. ")
    }
}

/// A question whose answer js/questions.js shows after the reader has committed to one. Without the script it is a fold.
fn prediction(site: &Site, prediction: &Prediction) -> AnyView {
    let (form, answer) = match &prediction.answer {
        PredictedAnswer::Choice(options) => (choices(site, options), reasons(site, options)),
        PredictedAnswer::Number {
            value,
            tolerance,
            unit,
            why,
        } => (
            number_field(*value, *tolerance, unit),
            view! {
                <p><strong>{format!("{value} {unit}").trim_end().to_owned() + ". "}</strong><span inner_html=inline(why, site.base())></span></p>
            }
            .into_any(),
        ),
    };
    let key = prediction.key();
    let question_id = format!("question-{key}");
    view! {
        <div class="block predict" data-predict data-question=key role="group" aria-labelledby=question_id.clone()>
            <p class="block-title">"Predict"</p>
            <p id=question_id.clone() inner_html=inline(&prediction.question, site.base())></p>
            <form>
                {form}
                <button type="submit" class="needs-js">"Show the answer"</button>
            </form>
            <p role="status" data-verdict></p>
            <details data-answer>
                <summary>"The answer"</summary>
                {answer}
            </details>
        </div>
    }
    .into_any()
}

fn choices(site: &Site, options: &[QuizOption]) -> AnyView {
    let options: Vec<AnyView> = options
        .iter()
        .map(|option| {
            let correct = option.correct.then_some("");
            view! {
                <label>
                    <input type="radio" name="answer" required data-correct=correct />
                    <span inner_html=inline(&option.text, site.base())></span>
                </label>
            }
            .into_any()
        })
        .collect();
    view! { <fieldset><legend class="visually-hidden">"Your answer"</legend>{options}</fieldset> }
        .into_any()
}

fn reasons(site: &Site, options: &[QuizOption]) -> AnyView {
    let reasons: Vec<AnyView> = options
        .iter()
        .map(|option| {
            let (class, word) = verdict(option);
            view! {
                <li class=class>
                    <span inner_html=inline(&option.text, site.base())></span>
                    " "
                    <strong>{word}</strong>
                    <span inner_html=inline(&option.why, site.base())></span>
                </li>
            }
            .into_any()
        })
        .collect();
    view! { <ul>{reasons}</ul> }.into_any()
}

fn number_field(value: f64, tolerance: f64, unit: &str) -> AnyView {
    view! {
        <label>
            "Your answer "
            <input
                type="text"
                inputmode="decimal"
                autocomplete="off"
                size="8"
                required
                data-number=value.to_string()
                data-tolerance=tolerance.to_string()
            />
            {format!(" {unit}")}
        </label>
    }
    .into_any()
}

fn figure(site: &Site, figure: &Figure) -> AnyView {
    let table = figure
        .table
        .as_ref()
        .map(|table| numbers(&figure.title, table));
    let label = format!("Figure: {}", figure.title);
    view! {
        <figure class="figure">
            <div class="scroll" tabindex="0" role="group" aria-label=label inner_html=figure.svg.clone()></div>
            <figcaption inner_html=inline(&figure.caption, site.base())></figcaption>
            {table}
        </figure>
    }
    .into_any()
}

/// The numbers of a figure, folded.
fn numbers(title: &str, table: &Table) -> AnyView {
    let head: Vec<AnyView> = table
        .columns()
        .iter()
        .map(|column| view! { <th scope="col">{column.clone()}</th> }.into_any())
        .collect();
    let rows: Vec<AnyView> = table
        .rows()
        .iter()
        .map(|row| {
            let cells: Vec<AnyView> = row
                .iter()
                .map(|field| view! { <td>{field.clone()}</td> }.into_any())
                .collect();
            view! { <tr>{cells}</tr> }.into_any()
        })
        .collect();
    view! {
        <details>
            <summary>"The numbers"</summary>
            <div class="scroll" tabindex="0" role="group" aria-label=format!("Numbers: {title}")>
                <table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>
            </div>
        </details>
    }
    .into_any()
}

fn transcript(transcript: &Transcript) -> AnyView {
    let command = code_figure(None, "sh", &escape(&transcript.command));
    view! {
        <div class="block run" role="group" aria-label="Run it">
            <p class="block-title">"Run it"</p>
            <div inner_html=command></div>
            <p class="hint">{format!("Output, recorded: {}", transcript.recorded)}</p>
            <pre class="transcript" tabindex="0" role="group" aria-label="Output"><samp>{transcript.output.clone()}</samp></pre>
        </div>
    }
    .into_any()
}

/// The text of a block, for the search. Code is left out.
pub(super) fn search_text(block: &Block) -> String {
    let statement = |statement: &Statement| format!("{} {}", statement.text, statement.source);
    let options = |options: &[QuizOption]| -> String {
        let texts = options.iter();
        texts
            .map(|option| format!("{} {} ", option.text, option.why))
            .collect()
    };
    let markdown = match block {
        Block::Code(code) => code.caption.clone().unwrap_or_default(),
        Block::Diff { caption, .. } => caption.clone(),
        Block::Try(exercise) => exercise.task.clone(),
        Block::Bench(bench) => format!("{} {}", bench.title, bench.note),
        Block::Quiz(quiz) => format!("{} {}", quiz.question, options(&quiz.option)),
        Block::Predict(prediction) => match &prediction.answer {
            PredictedAnswer::Choice(choices) => {
                format!("{} {}", prediction.question, options(choices))
            }
            PredictedAnswer::Number { why, .. } => format!("{} {why}", prediction.question),
        },
        Block::Claim(claim) => {
            let evidence = match &claim.verdict {
                ClaimVerdict::Holds(found)
                | ClaimVerdict::Depends(found)
                | ClaimVerdict::Wrong(found) => statement(found),
                ClaimVerdict::Unmeasured => String::new(),
            };
            format!("{} {evidence}", statement(&claim.statement))
        }
        Block::Figure(figure) => {
            format!("{} {} {}", figure.title, figure.caption, figure.conclusion)
        }
        Block::Run(transcript) => transcript.command.clone(),
        Block::Write(exercise) => format!("{} {}", exercise.title, exercise.task),
    };
    plain(&markdown)
}

fn claim(site: &Site, claim: &Claim) -> AnyView {
    let (class, word, evidence) = match &claim.verdict {
        ClaimVerdict::Holds(shown) => ("holds", "Holds", Some(("It holds: ", "Shown by: ", shown))),
        ClaimVerdict::Depends(but) => ("depends", "It depends", Some(("But: ", "Source: ", but))),
        ClaimVerdict::Wrong(but) => (
            "wrong",
            "Wrong",
            Some(("What is right: ", "Refuted by: ", but)),
        ),
        ClaimVerdict::Unmeasured => ("unmeasured", "Not measured", None),
    };
    let measured = match &claim.measured {
        Some(what) => format!(" We measured {}.", escape(what)),
        None => " We did not measure it.".to_owned(),
    };
    let evidence = match evidence {
        Some((lead, by, statement)) => view! {
            <p><strong>{lead}</strong>{words(site, statement)}</p>
            <p class="hint" inner_html=cited(by, statement) + &measured></p>
        }
        .into_any(),
        None => view! { <p class="hint" inner_html=measured></p> }.into_any(),
    };
    let title = format!("Claim: {word}");
    view! {
        <aside class=format!("block claim {class}") aria-label=title.clone()>
            <p class="block-title">{title.clone()}</p>
            <p>{words(site, &claim.statement)}</p>
            <p class="hint" inner_html=cited("Claimed by: ", &claim.statement)></p>
            {evidence}
        </aside>
    }
    .into_any()
}

/// The text of a statement; in quotation marks only where it is the source's own.
fn words(site: &Site, statement: &Statement) -> AnyView {
    let text = inline(&statement.text, site.base());
    if statement.quote {
        view! { <q inner_html=text></q> }.into_any()
    } else {
        view! { <span inner_html=text></span> }.into_any()
    }
}

/// The source of a statement, with a link if it has an address.
fn cited(by: &str, statement: &Statement) -> String {
    let name = escape(&statement.source);
    match &statement.url {
        Some(url) => format!("{by}<a href=\"{}\">{name}</a>.", escape(url)),
        None => format!("{by}{name}."),
    }
}
