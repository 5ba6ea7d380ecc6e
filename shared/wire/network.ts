/** Ports that processes hold. */
import { route } from '../route.ts'
import { s } from '../schema.ts'

/** An operating system pid in a path. */
const pid = s.pipe(
  s
    .string()
    .check(
      s.refine(value => /^\d{1,10}$/.test(value) && Number(value) <= 2_147_483_647, 'invalid PID, not an integer'),
    ),
  s.transform(Number),
)
const params = s.object({ pid })

export const port = s.object({
  /** The owner, which may be a descendant of the process that was asked about. */
  pid: s.int(),
  protocol: s.enum(['tcp', 'udp']),
  localAddr: s.string(),
  localPort: s.int(),
  remoteAddr: s.string(),
  /** 0 when there is no peer. */
  remotePort: s.int(),
  /** As `ss` spells it: LISTEN, ESTAB, UNCONN, … */
  state: s.string(),
  processName: s.string(),
})

const success = s.object({ path: s.string(), message: s.string() })

export const listPorts = route('GET /network/process/:pid/ports', {
  id: 'network.ports',
  summary: 'Sockets of a process and its descendants, one per local port',
  params,
  returns: s.object({ pid: s.int(), ports: s.array(port) }),
  errors: ['invalid_argument', 'unprocessable'],
})

export const startMonitor = route('POST /network/process/:pid/monitor', {
  id: 'network.monitor.start',
  summary: 'Posts every port the process or a descendant opens to a URL',
  params,
  body: s.nullish(
    s.object({
      callback: s.nullish(
        s.string().check(
          s.maxLength(8192),
          s.refine(
            value => value === '' || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)),
            'must be an http or https URL',
          ),
        ),
      ),
    }),
  ),
  returns: success,
  errors: ['invalid_argument', 'invalid_body', 'unprocessable'],
})

export const stopMonitor = route('DELETE /network/process/:pid/monitor', {
  id: 'network.monitor.stop',
  summary: 'Ends all monitors of a process',
  params,
  returns: success,
  errors: ['invalid_argument'],
})
