/**
 * The life of records that nothing on this host runs: they are kept, checked and changed like any other, and say FAILED and
 * why. A kind that gets a runner leaves this behind.
 */
import { buildMoves } from '../transitions/build-moves.ts'
import { stateTable } from '../transitions/state-table.ts'
import { statuses, type Consequence, type Kind, type Spec } from '../records/kind.ts'
import type { Resource } from '../store/store.ts'

const made = buildMoves('FAILED')

const life = stateTable('FAILED', {
  UPLOADING: { ...made.UPLOADING, disable: 'DEACTIVATED' },
  BUILDING: { ...made.BUILDING, disable: 'DEACTIVATED' },
  FAILED: { upload: 'UPLOADING', change: 'FAILED', disable: 'DEACTIVATED', delete: 'DELETING' },
  DEACTIVATED: { upload: 'UPLOADING', change: 'DEACTIVATED', enable: 'FAILED', delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

const isEnabled = (spec: Spec): boolean => spec['enabled'] !== false

/** What a kind says of its life while nothing runs it; `why` is the text of its events. */
export const unserved = (why: string) => {
  const messageOf = (spec: Spec) => (isEnabled(spec) ? why : 'disabled')
  return {
    life,
    statuses,
    initialStatus: (spec: Spec) => (isEnabled(spec) ? life.initial : 'DEACTIVATED'),
    createdMessage: messageOf,
    consequence({ spec: before }: Resource, spec: Spec): Consequence | undefined {
      const message = messageOf(spec)
      if (isEnabled(before) !== isEnabled(spec)) return { event: isEnabled(spec) ? 'enable' : 'disable', message }
      return JSON.stringify(before) === JSON.stringify(spec) ? undefined : { event: 'change', message }
    },
  } satisfies Partial<Kind>
}

export const noRunner = unserved('no runner on this host')
