/** Sets the chart's version: Helm needs the version in Chart.yaml, while package.json defines it. */

/** Returns the text of Chart.yaml with this version as version and appVersion. */
export function versioned(text: string, version: string): string {
  return text.replace(/^version: .*$/m, `version: ${version}`).replace(/^appVersion: .*$/m, `appVersion: "${version}"`);
}
