//! Prints the HIP runtime's version and its devices.

fn main() {
    match hipward_hip::runtime() {
        Ok(runtime) => {
            println!("HIP {}: {} devices", runtime.version, runtime.devices.len());
            for device in runtime.devices {
                println!("{} ({} bytes)", device.name, device.memory_bytes);
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
