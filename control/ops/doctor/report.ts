/** The doctor's findings as text for a terminal. */
import { command } from '../../../shared/installation.ts'
import type { Finding, Probe } from '../../drivers/driver.ts'

export interface Diagnosis {
  /** `oci (runc)` */
  readonly driver: string
  /** The one that the configuration names. */
  readonly configured: boolean
  readonly probe: Probe
}

const list = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`  ${title}`, ...lines.map(line => `    - ${line}`)]

const findingLines = (findings: readonly Finding[]): string[] =>
  findings.flatMap(({ ok, what, next }) => [`  ${ok ? 'ok  ' : 'FAIL'} ${what}`, ...(next ? [`       → ${next}`] : [])])

const one = ({ driver, configured, probe }: Diagnosis): string[] => [
  `${driver}${configured ? ', configured' : ''}: ${probe.usable ? 'usable' : 'NOT USABLE'}`,
  ...findingLines(probe.findings),
  // What cannot run protects nobody.
  ...(probe.usable ? [...list('protects', probe.protects), ...list('does not protect', probe.doesNotProtect)] : []),
  '',
]

const section = (title: string, findings: readonly Finding[]): string[] =>
  findings.length === 0 ? [] : [title, ...findingLines(findings), '']

/** The report, and whether Hutch can run here as configured; the others are findings that decide nothing about that. */
export const report = (
  diagnoses: readonly Diagnosis[],
  images: readonly Finding[],
  records: readonly Finding[] = [],
): { text: string; healthy: boolean } => {
  const healthy = diagnoses.some(({ configured, probe }) => configured && probe.usable)
  const usable = diagnoses.filter(({ probe }) => probe.usable).map(({ driver }) => driver)
  const verdict = healthy
    ? 'Hutch can run here as configured.'
    : usable.length > 0
      ? `The configured driver cannot be used. These can: ${usable.join(', ')} (set HUTCH_RUNTIME).`
      : `No driver can be used. Do what the arrows say, then run ${command('doctor')} again.`
  const others = [...section('images:', images), ...section('database:', records)]
  return { text: [...diagnoses.flatMap(one), ...others, verdict, ''].join('\n'), healthy }
}
