/** What the audit says of a transaction that somebody asked for. */
import type { AuditedBy, AuditEntry, Write } from '../store/store.ts'
import type { Move } from './moves.ts'

type Told = Pick<AuditEntry, 'workspace' | 'action' | 'kind' | 'name' | 'uid' | 'detail'>

interface Named {
  readonly uid: string
  readonly kind: string
  readonly workspace: string
  readonly parent: string
  readonly name: string
}

const pathOf = ({ parent, name }: Pick<Named, 'parent' | 'name'>): string => (parent ? `${parent}/${name}` : name)

type Members = Readonly<Record<string, unknown>>

/** Names of the members that differ: `spec.runtime`. */
const changed = (at: string, before: Members | undefined, after: Members | undefined): string[] => {
  if (!after) return []
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])]
  return names
    .filter(name => JSON.stringify(before?.[name]) !== JSON.stringify(after[name]))
    .map(name => `${at}.${name}`)
}

/** Stamped by every change. */
const stamps: readonly string[] = ['metadata.updatedBy']

interface Located {
  readonly entry: Told
  /** Where it is, and inside of what. */
  readonly path: string
  readonly within: string
}

const told = (move: Move): Located | undefined => {
  const of = ({ uid, kind, workspace, parent, name }: Named, action: string, detail: Members): Located => {
    const inside = pathOf({ parent, name })
    const entry = { uid, kind, workspace, name: inside, action, detail }
    return { entry, within: `${workspace}/${parent}`, path: `${workspace}/${inside}` }
  }
  if ('create' in move) return of(move.create, 'create', {})
  if ('remove' in move) return of(move.remove, 'delete', move.unreadable ? { unreadable: true } : {})
  if ('removeWorkspace' in move) {
    const { removeWorkspace: name } = move
    const entry = { uid: '', kind: 'workspace', workspace: name, name, action: 'delete', detail: {} }
    return { entry, within: '', path: name }
  }
  if ('lost' in move) return of(move.lost, move.event.name, { event: move.event.name, unreadable: true })
  if (!('record' in move)) return undefined
  const { record, event, change } = move
  const fields = [
    ...changed('metadata', { ...record.metadata }, change?.metadata && { ...change.metadata }),
    ...changed('spec', record.spec, change?.spec),
  ].filter(field => !stamps.includes(field))
  const detail = { ...(event ? { event: event.name } : {}), ...(fields.length > 0 ? { fields } : {}) }
  return of(record, change ? 'update' : (event?.name ?? 'update'), detail)
}

/** One row for each record that somebody made, changed or removed; what went along inside of it is not told again. */
export const auditWrites = (moves: readonly Move[], by: AuditedBy): Write[] => {
  const all = moves.map(told).filter(one => one !== undefined)
  const paths = new Set(all.map(({ path }) => path))
  return all
    .filter(({ within }) => !paths.has(within))
    .map(({ entry }) => ({ type: 'audit', entry: { ...entry, ...by, account: '' } }))
}
