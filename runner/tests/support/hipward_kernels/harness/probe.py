"""Says that there is one device, the processor."""

import json
import platform

cpu = {"id": "cpu", "name": "A processor", "vendor": "cpu", "arch": platform.machine(), "memory_bytes": 1 << 30}
print(json.dumps({"torch": "0.0-scripted", "devices": [cpu]}))
