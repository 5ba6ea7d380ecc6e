/**
 * Who may use a drive: the rules of its record, which the host asks at each mount. The first rule whose labels a workload has decides; without
 * rules the whole workspace may read and write; with rules of which none matches nobody may. A directory without a record has no rules.
 */
import { cleanPath } from '../../../../shared/drives/drives.ts'
import { below } from '../../../../shared/drives/mountinfo.ts'
import type { DriveMount } from '../../../../shared/drives/provider.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Owner, Resource } from '../../store/store.ts'

/** As it is stored: what it leaves out is what is allowed most. */
export interface Rule {
  readonly labels?: Readonly<Record<string, string>> | null
  readonly mode?: 'read' | 'read-write' | null
  readonly path?: string | null
}

export interface StoredDrive {
  readonly permissions?: readonly Rule[]
}

/** Labels of a workload: its own, and what it is, which no label of its own can say otherwise. */
export const labelsOf = (
  owner: Owner,
  record: Pick<Resource, 'metadata'> | undefined,
  prefixes: readonly string[],
) => ({
  ...record?.metadata.labels,
  ...Object.fromEntries(
    prefixes.flatMap(prefix => [
      [`${prefix}-workspace`, owner.workspace],
      [`${prefix}-type`, owner.kind],
      [`${prefix}-name`, owner.name],
    ]),
  ),
})

const matches = (rule: Rule, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(rule.labels ?? {}).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)

/** The mount that the rules allow: read-only where they say so, whatever was asked. Throws `forbidden`. */
export const allowed = (
  { permissions = [] }: StoredDrive,
  labels: Readonly<Record<string, string>>,
  wanted: DriveMount,
): DriveMount => {
  if (permissions.length === 0) return wanted
  const refuse = (reason: string) => fail('forbidden', { reason: `drive "${wanted.driveName}": ${reason}` })
  const rule = permissions.find(one => matches(one, labels))
  if (!rule) throw refuse('no rule matches the labels of this workload')
  const path = cleanPath(rule.path ?? '/')
  if (below(wanted.drivePath, path) === undefined) throw refuse(`this workload may mount ${path} and below`)
  return rule.mode === 'read' ? { ...wanted, readOnly: true } : wanted
}
