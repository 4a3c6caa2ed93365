"""Says that there is one device, the processor."""

import json
import platform

cpu = {"id": "cpu", "name": "A processor", "vendor": "cpu", "arch": platform.machine(), "memory_bytes": 1 << 30}
names = ("eager", "eager-control", "compile", "fused-ops", "model-new")
variants = [{"id": name, "label": f"Variant {name}", "about": "As scripted"} for name in names]
print(json.dumps({"torch": "0.0-scripted", "devices": [cpu], "variants": variants}))
