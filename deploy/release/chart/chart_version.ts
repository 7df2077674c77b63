/** The chart has the version of Ostler, which stands in package.json alone; Helm wants it in a file of its own. */

/** The text of Chart.yaml with that version, for the chart and for what it installs. */
export function versioned(text: string, version: string): string {
  return text.replace(/^version: .*$/m, `version: ${version}`).replace(/^appVersion: .*$/m, `appVersion: "${version}"`);
}
