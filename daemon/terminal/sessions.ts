/** Terminal sessions by name: shared by all sockets that use the name, and alive without any for ten minutes. */
import { accessSync, closeSync, constants } from 'node:fs'
import { fail } from '../../shared/errors.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { Environment } from '../environment.ts'
import { identityEnvironment, type Identity } from '../identity/index.ts'
import { tenantDrops } from '../init/capabilities.ts'
import type { Reaper } from '../init/reaper.ts'
import { readStat } from '../proc/stat.ts'
import { shellPath } from '../process/spawn.ts'
import type { InheritedTerminal } from '../upgrade/handover.ts'
import { killSession } from './kill-session.ts'
import { inheritedPty, openPty, type Pty, type PtyOptions } from './pty.ts'
import { createReplay, type Replay } from './replay.ts'

/** Somebody who looks at a session. */
export interface Viewer {
  output(text: string): void
  /** The shell is gone. */
  ended(): void
}

export interface Attachment {
  readonly pid: number
  /** All output so far, by position. */
  readonly shown: Pick<Replay, 'end' | 'since'>
  /** False, and nothing is typed, while the program has not read a mebibyte that was typed before. */
  input(data: string): boolean
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
  /** Goes on with what `handOver` of an earlier daemon gave. */
  takeOver(left: readonly InheritedTerminal[]): void
  /** All sessions as of now, for a daemon that takes this one's place by exec. */
  handOver(): InheritedTerminal[]
  /** Ends all sessions. */
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
/** Bytes typed that a program has not read. */
const maxPendingBytes = 1024 * 1024
/** Each keeps a replay in the daemon's memory, and a name is cheaply made up. */
const maxSessions = 256
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

export const createSessions = (deps: SessionsDeps): Sessions => {
  const { clock, log, environment, identity, reaper, cwd } = deps
  const all = new Map<string, Session>()

  const shellOf = (wanted: string | undefined): string =>
    shellPath(wanted ?? [environment.get('SHELL') ?? '', ...usualShells].filter(Boolean).find(executable) ?? '/bin/sh')

  /** A session on the terminal that `open` gives. */
  const begin = (id: string, kept: Replay, open: (ends: Pick<PtyOptions, 'clock' | 'onOutput'>) => Pty): Session => {
    const viewers = new Set<Viewer>()
    const onOutput = (text: string) => {
      session.activeAt = clock.now()
      kept.add(text)
      for (const viewer of viewers) viewer.output(text)
    }
    const pty = open({ clock, onOutput })
    const session: Session = { id, pty, replay: kept, viewers, activeAt: clock.now() }
    all.set(id, session)
    reaper.watch(pty.pid, exit => {
      log.info('terminal.ended', { sessionId: id, ...exit })
      forget(session)
    })
    return session
  }

  const start = ({ sessionId, shell, workingDir, cols, rows }: Attach): Session => {
    if (all.size >= maxSessions)
      throw fail('busy', { what: `there are ${maxSessions} terminals`, next: 'end one of their shells and try again' })
    const env = identityEnvironment(identity, { TERM: 'xterm-256color', ...environment.all() })
    const how = {
      shell: shellOf(shell),
      cwd: workingDir || cwd,
      env,
      cols,
      rows,
      identity,
      dropCapabilities: tenantDrops(),
    }
    return begin(sessionId, createReplay(), ends => openPty({ ...how, ...ends }))
  }

  const forget = (session: Session) => {
    if (all.get(session.id) === session) all.delete(session.id)
    session.pty.close()
    for (const viewer of session.viewers) viewer.ended()
    session.viewers.clear()
  }

  const goOn = ({ sessionId, fd, pid, startTicks, kept, cut, rest, typed }: InheritedTerminal): void => {
    // Its shell may have ended during the exec, and its number be somebody else's.
    if (readStat(pid)?.startTicks !== startTicks) return closeSync(fd)
    const left = { fd, pid, rest: Buffer.from(rest, 'base64'), typed: Buffer.from(typed, 'base64') }
    begin(sessionId, createReplay(undefined, { kept, cut }), ends => inheritedPty(left, ends))
  }

  const stopLooking = clock.every(lookEveryMs, () => {
    for (const session of all.values()) {
      if (session.viewers.size > 0 || clock.now() - session.activeAt < idleMs) continue
      log.info('terminal.idle', { sessionId: session.id })
      killSession(session.pty.pid)
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
        shown: session.replay,
        input(data) {
          const { input } = session.pty
          if (input.waiting > maxPendingBytes) return false
          session.activeAt = clock.now()
          input.type(Buffer.from(data))
          return true
        },
        resize: (cols, rows) => session.pty.resize(cols, rows),
        detach() {
          session.viewers.delete(viewer)
          session.activeAt = clock.now()
        },
      }
    },
    takeOver(left) {
      for (const one of left) {
        try {
          goOn(one)
        } catch (error) {
          log.error('terminal.lost', { sessionId: one.sessionId, error })
        }
      }
    },
    handOver: () =>
      Array.from(all.values(), ({ id, pty: { fd, pid, rest, input }, replay: shown }) => ({
        sessionId: id,
        fd,
        pid,
        startTicks: readStat(pid)?.startTicks ?? '',
        ...shown.state(),
        rest: rest.toString('base64'),
        typed: input.rest().toString('base64'),
      })),
    close() {
      stopLooking()
      for (const session of all.values()) {
        killSession(session.pty.pid)
        forget(session)
      }
    },
  }
}
