/** `POST /v0/snapshots/{name}/fork`. */
import type { ErrorCode } from '../../../../../shared/errors.ts'
import type { Action } from '../../../records/action.ts'
import { fork, forkAnswer, forkBody, forkFrom } from './fork.ts'

/** Of whatever makes a sandbox. */
export const forkErrors: readonly ErrorCode[] = [
  'not_available',
  'already_exists',
  'wrong_state',
  'quota_exceeded',
  'overloaded',
  'draining',
  'no_room',
]

export const forkSnapshot: Action = {
  name: 'fork',
  summary: 'Makes sandboxes with the files of a snapshot, each with an identity of its own',
  method: 'POST',
  path: 'fork',
  on: 'record',
  access: { scope: 'sandboxes:create', role: 'member' },
  body: forkBody,
  returns: forkAnswer,
  errors: forkErrors,
  run: async (context, { actor, found, body }) => {
    if (!found) throw new Error('a fork is of a record')
    return fork(context, actor, found.record, forkFrom(body))
  },
}
