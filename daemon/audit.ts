/** Who calls, according to the gateway's headers. For the audit log only: nothing is decided by it. */
import type { Context, Request } from '../shared/route.ts'
import type { WireNames } from '../shared/wire-names.ts'

export interface Actor {
  readonly subjectId: string
  readonly subjectType: string
  readonly authMethod: string
}

const header = (request: Request, names: readonly string[]): string => {
  for (const name of names) {
    const value = request.headers[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return ''
}

/** Reads the identity headers; the vendor's win over the plain ones, and missing ones are empty. */
export const createActorReader = (names: WireNames): ((request: Request) => Actor) => {
  const id = [...names.header('subject-id'), 'x-subject-id']
  const type = [...names.header('subject-type'), 'x-subject-type']
  const method = names.header('auth-method')
  return request => ({
    subjectId: header(request, id),
    subjectType: header(request, type),
    authMethod: header(request, method),
  })
}

type AuditEvent =
  | 'process_exec'
  | 'process_exec_stream'
  | 'process_logs_access'
  | 'process_logs_stream'
  | 'process_stop'
  | 'process_kill'
  | 'terminal_connect'
  | 'terminal_disconnect'
  | 'terminal_command'

/** A command can be megabytes long, and the host stores the log. */
const maxTextLength = 4_096

const short = (value: unknown): unknown =>
  typeof value === 'string' && value.length > maxTextLength
    ? `${value.slice(0, maxTextLength)}… (${value.length} characters)`
    : value

/** Writes one audit line. JSON escapes whatever a caller tries to smuggle into it, and long texts are cut. */
export const audit = (context: Context, event: AuditEvent, fields: object = {}): void => {
  const facts = { ...(context.facts['actor'] as Actor | undefined), ...fields }
  const bounded = Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, short(value)]))
  context.log.info(event, { source: 'audit', requestId: context.requestId, ...bounded })
}
