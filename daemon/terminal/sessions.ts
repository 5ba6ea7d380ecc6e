/** Terminal sessions by name: shared by all sockets that use the name, and alive without any for ten minutes. */
import { accessSync, constants } from 'node:fs'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { Environment } from '../environment.ts'
import { identityEnvironment, type Identity } from '../identity/identity.ts'
import { tenantDrops } from '../init/capabilities.ts'
import type { Reaper } from '../init/reaper.ts'
import { endSession } from './end.ts'
import { openPty, type Pty } from './pty.ts'
import { replay, type Replay } from './replay.ts'

/** Somebody who looks at a session. */
export interface Viewer {
  output(text: string): void
  /** The shell is gone. */
  ended(): void
}

export interface Attachment {
  readonly pid: number
  input(data: string): void
  resize(cols: number, rows: number): void
  detach(): void
}

export interface Attach {
  readonly sessionId: string
  readonly shell: string | undefined
  readonly workingDir: string | undefined
  readonly cols: number
  readonly rows: number
}

export interface Sessions {
  /** Joins the session or starts it; throws when the shell cannot be started. The viewer gets the replay first. */
  attach(wanted: Attach, viewer: Viewer): Attachment
  close(): void
}

export interface SessionsDeps {
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  readonly identity: Identity | undefined
  readonly reaper: Pick<Reaper, 'watch'>
  readonly cwd: string
}

interface Session {
  readonly id: string
  readonly pty: Pty
  readonly replay: Replay
  readonly viewers: Set<Viewer>
  activeAt: number
}

const idleMs = 10 * 60_000
const lookEveryMs = 30_000
const usualShells = ['/bin/zsh', '/bin/bash', '/bin/sh', '/bin/ash']

const executable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Not there, or not ours to run: the next one is tried.
    return false
  }
}

export const sessions = (deps: SessionsDeps): Sessions => {
  const { clock, log, environment, identity, reaper, cwd } = deps
  const all = new Map<string, Session>()

  const shellOf = (wanted: string | undefined): string =>
    wanted ?? [environment.get('SHELL') ?? '', ...usualShells].filter(Boolean).find(executable) ?? '/bin/sh'

  const start = ({ sessionId, shell, workingDir, cols, rows }: Attach): Session => {
    const kept = replay()
    const viewers = new Set<Viewer>()
    const env = identityEnvironment(identity, { TERM: 'xterm-256color', ...environment.all() })
    const pty = openPty({
      shell: shellOf(shell),
      cwd: workingDir || cwd,
      env,
      cols,
      rows,
      identity,
      dropCapabilities: tenantDrops(),
      onOutput(text) {
        session.activeAt = clock.now()
        kept.add(text)
        for (const viewer of viewers) viewer.output(text)
      },
    })
    const session: Session = { id: sessionId, pty, replay: kept, viewers, activeAt: clock.now() }
    all.set(sessionId, session)
    reaper.watch(pty.pid, exit => {
      log.info('terminal.ended', { sessionId, ...exit })
      forget(session)
    })
    return session
  }

  const forget = (session: Session) => {
    if (all.get(session.id) === session) all.delete(session.id)
    session.pty.close()
    for (const viewer of session.viewers) viewer.ended()
    session.viewers.clear()
  }

  const stopLooking = clock.every(lookEveryMs, () => {
    for (const session of all.values()) {
      if (session.viewers.size > 0 || clock.now() - session.activeAt < idleMs) continue
      log.info('terminal.idle', { sessionId: session.id })
      endSession(session.pty.pid)
      forget(session)
    }
  })

  return {
    attach(wanted, viewer) {
      const existing = all.get(wanted.sessionId)
      const session = existing ?? start(wanted)
      if (existing) {
        session.pty.resize(wanted.cols, wanted.rows)
        const shown = session.replay.text()
        if (shown) viewer.output(shown)
      }
      session.viewers.add(viewer)
      session.activeAt = clock.now()
      return {
        pid: session.pty.pid,
        input(data) {
          session.activeAt = clock.now()
          session.pty.write(data)
        },
        resize: (cols, rows) => session.pty.resize(cols, rows),
        detach() {
          session.viewers.delete(viewer)
          session.activeAt = clock.now()
        },
      }
    },
    close() {
      stopLooking()
      for (const session of all.values()) {
        endSession(session.pty.pid)
        forget(session)
      }
    },
  }
}
