/** The YAML parser of cloud-init, if installed: PyYAML, which reads YAML 1.1. */
import { spawnSync } from "node:child_process";

const program = `
import json, sys, yaml
def load(text):
    try:
        return {"value": yaml.safe_load(text)}
    except Exception as error:
        return {"error": str(error)}
documents = json.load(sys.stdin)
def plain(value):
    if isinstance(value, dict): return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list): return [plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None: return value
    return {"type": type(value).__name__}
json.dump(plain([load(text) for text in documents]), sys.stdout)
`;

/** Whether there is a Python with PyYAML. */
export const hasPyYaml = spawnSync("python3", ["-c", "import yaml"]).status === 0;

/** Returns PyYAML's value of each document; values without JSON form are objects with their `type`. */
export function pyYamlLoad(documents: readonly string[]): { value?: unknown; error?: string }[] {
  const { status, stdout, stderr } = spawnSync("python3", ["-c", program], {
    input: JSON.stringify(documents),
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  if (status !== 0) throw new Error(`Failed to read YAML with Python: ${stderr}`);
  return JSON.parse(stdout);
}
