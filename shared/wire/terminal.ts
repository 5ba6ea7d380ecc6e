/** The interactive terminal: a page and a WebSocket. */
import { route } from '../route.ts'
import { s } from '../schema.ts'

const size = (fallback: number) =>
  s.pipe(
    s.optional(s.string()),
    // Anything that is not an unsigned 16-bit number is the default, as clients expect.
    s.transform((value: string | undefined) => {
      const number = value !== undefined && /^\d{1,5}$/.test(value) ? Number(value) : fallback
      return number <= 65_535 ? number : fallback
    }),
  )

/** A self-contained page that opens the socket below. */
export const terminalPage = route('GET /terminal', {
  id: 'terminal.page',
  summary: 'Open a terminal in the browser',
  produces: ['text/html'],
})

/**
 * Text frames of JSON both ways. To the server `{"type":"input","data"}` and `{"type":"resize","cols","rows"}`, to the
 * client `{"type":"output","data"}` and `{"type":"error","data"}`.
 */
export const terminalSocket = route('GET /terminal/ws', {
  id: 'terminal.socket',
  summary: 'Attach to a terminal session over WebSocket; the session outlives the socket',
  query: s.object({
    cols: size(80),
    rows: size(24),
    /** Absolute path of a program; by default the first shell found. */
    shell: s.optional(s.string()),
    workingDir: s.optional(s.string()),
    sessionId: s.optional(s.string().check(s.maxLength(256, 'must be at most 256 characters'))),
  }),
  upgrade: true,
})

export const terminalWire = [terminalPage, terminalSocket]
