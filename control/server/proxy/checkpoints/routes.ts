/** The routes of the per-sandbox API that the host answers from what it has saved. */
import { route } from '../../../../shared/route.ts'
import { flag, s } from '../../../../shared/schema.ts'
import { Process, StartProcess } from '../../../../shared/wire/process.ts'

const processes = s.enum(['kept', 'ended'])

export const startCheckpointed = route('POST /process', {
  id: 'process.startCheckpointed',
  summary: 'Saves the files of the sandbox, then starts a process',
  body: StartProcess,
  returns: Process,
  errors: ['invalid_argument', 'no_room', 'not_available', 'busy'],
})

export const listCheckpoints = route('GET /checkpoints', {
  id: 'checkpoints.list',
  summary: 'States that the sandbox can be taken back to, newest first',
  returns: s.array(s.object({ id: s.string(), createdAt: s.string(), command: s.string(), bytes: s.int(), processes })),
})

const entry = s.object({
  path: s.string(),
  size: s.int(),
  type: s.string(),
  before: s.optional(s.string()),
  after: s.optional(s.string()),
})

export const diffCheckpoint = route('GET /checkpoints/:id/diff', {
  id: 'checkpoints.diff',
  summary: 'What was added, changed and removed since then',
  params: s.object({ id: s.string() }),
  query: s.object({ content: flag() }),
  returns: s.object({
    added: s.array(entry),
    changed: s.array(entry),
    removed: s.array(entry),
    truncated: s.boolean(),
  }),
  errors: ['not_found', 'no_room'],
})

const wanted = s.object({ to: s.nullish(s.string()), restart: s.nullish(s.boolean()) })
const moved = s.object({ checkpoint: s.string(), processes })

export const undo = route('POST /undo', {
  id: 'checkpoints.undo',
  summary: 'Takes the files of the sandbox back to a state, the one before unless given',
  body: wanted,
  returns: moved,
  errors: ['not_found', 'wrong_state', 'no_room', 'timed_out', 'operation_failed'],
})

export const redo = route('POST /redo', {
  id: 'checkpoints.redo',
  summary: 'Takes the files of the sandbox forth to what was undone',
  body: wanted,
  returns: moved,
  errors: ['not_found', 'wrong_state', 'no_room', 'timed_out', 'operation_failed'],
})
