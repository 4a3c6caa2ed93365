//! What holds for every text: it is executed or refused with one of its lines, within the budget, and the result depends neither
//! on the number of threads nor on the way of execution. Shared with the fuzz target.

use hipward_emulator::{
    ArgumentKind, Launch, Listing, Memory, Program, Report, Stepper, run_on_threads,
};

/// Most instructions of a run.
const BUDGET: u64 = 4000;

/// Bytes of each buffer.
const BUFFER: usize = 4096;

/// Executes each kernel of a listing. Returns the number of kernels that ran.
///
/// # Panics
///
/// A promise is broken.
pub fn execute(text: &str) -> usize {
    let lines = text.lines().count();
    let is_line = |line: u32| (line as usize) <= lines;
    let listing = match Listing::parse(text) {
        Ok(listing) => listing,
        Err(error) => {
            assert!(is_line(error.line), "{error} in {lines} lines");
            return 0;
        }
    };
    let mut ran = 0;
    for kernel in listing.kernels.iter().take(4) {
        let program = match Program::new(&listing, Some(&kernel.name)) {
            Ok(program) => program,
            Err(error) => {
                assert!(is_line(error.line), "{error} in {lines} lines");
                continue;
            }
        };
        let Some((report, memory)) = once(&program, 1) else {
            assert!(once(&program, 2).is_none(), "refused on one thread only");
            continue;
        };
        ran += 1;
        assert!(report.counts.total() <= BUDGET, "{:?}", report.counts);
        let lines_of_report = report.findings.iter().map(|finding| finding.line);
        for line in lines_of_report.chain(report.error.iter().map(|error| error.line)) {
            assert!(is_line(line), "line {line} of {lines}");
        }
        let parallel = once(&program, 2).expect("it ran on one thread");
        let text = |report: &Report| format!("{report:?}");
        assert_eq!(text(&report), text(&parallel.0), "on two threads");
        assert!(memory == parallel.1, "the memory differs on two threads");
        step(program, &text(&report));
    }
    ran
}

/// A launch with a buffer for each address, and the memory with its buffers.
fn launch(program: &Program) -> (Launch, Memory, Vec<u64>) {
    let kernel = program.kernel();
    let mut memory = Memory::new();
    let mut addresses = Vec::new();
    let mut arguments = Vec::new();
    for argument in &kernel.arguments {
        match argument.kind {
            ArgumentKind::Buffer => {
                let contents: Vec<u8> = (0..BUFFER).map(|at| (at % 61) as u8).collect();
                let address = memory.add(argument.name.as_deref().unwrap_or("x"), &contents);
                let address = address.expect("a small buffer");
                addresses.push(address);
                arguments.push(address.to_le_bytes().to_vec());
            }
            // A value of any size; a size that a launch cannot have is refused by `run`.
            ArgumentKind::Value => {
                let mut bytes = vec![0; argument.size.min(64) as usize];
                if let Some(first) = bytes.first_mut() {
                    *first = 64;
                }
                arguments.push(bytes);
            }
            _ => {}
        }
    }
    let launch = Launch {
        grid: [3, 1, 1],
        workgroup: [kernel.largest_workgroup.clamp(1, 96), 1, 1],
        arguments,
        dynamic_lds: 256,
        budget: BUDGET,
    };
    (launch, memory, addresses)
}

/// The report of a run and the contents of the buffers; `None` if the launch is refused.
fn once(program: &Program, threads: usize) -> Option<(Report, Vec<Option<Vec<u8>>>)> {
    let (launch, mut memory, addresses) = launch(program);
    let report = run_on_threads(program, &launch, &mut memory, threads).ok()?;
    let contents = addresses.into_iter();
    let contents = contents.map(|address| memory.contents(address, BUFFER));
    Some((report, contents.collect()))
}

/// The same instruction by instruction, with all that the explorer shows.
fn step(program: Program, expected: &str) {
    let (launch, memory, _) = launch(&program);
    let Ok(mut stepper) = Stepper::new(program, launch, memory) else {
        return;
    };
    for position in [1, 2, 5, 30, 29] {
        stepper.go_to(position);
        let _ = (stepper.line(), stepper.trace(), stepper.lds().len());
        for name in stepper.operands() {
            let Some(wavefront) = stepper.wavefront() else {
                continue;
            };
            let _ = (wavefront.scalar(&name), wavefront.vector(&name));
        }
    }
    stepper.next_wavefront();
    stepper.run_to_line(9);
    stepper.finish();
    assert_eq!(format!("{:?}", stepper.report()), expected, "step by step");
}
