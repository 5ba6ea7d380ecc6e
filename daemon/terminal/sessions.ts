/** Terminal sessions by name. All sockets with the same name share one; without a socket it is kept for ten minutes. */
import type { InheritedTerminal } from '../upgrade/handover.ts'
import { killSession } from './kill-session.ts'
import type { Replay } from './replay.ts'
import {
  closeSession,
  resumeSession,
  sessionState,
  startSession,
  type Session,
  type SessionRequest,
  type SessionsContext,
  type SessionsDeps,
  type Viewer,
} from './session.ts'

export interface Attachment {
  readonly pid: number
  /** All output so far, by position. */
  readonly shown: Pick<Replay, 'end' | 'since'>
  /** Returns false and writes nothing while a mebibyte of earlier input is unread. */
  input(data: string): boolean
  resize(cols: number, rows: number): void
  detach(): void
}

export interface Sessions {
  /**
   * Attaches to the session, or starts it; throws when the shell cannot be started. The viewer gets the replay first.
   */
  attach(request: SessionRequest, viewer: Viewer): Attachment
  /** Continues with what `handOver` returned in the daemon before this one. */
  resume(inherited: readonly InheritedTerminal[]): void
  /** All sessions as they are now, for the daemon that replaces this one. */
  handOver(): InheritedTerminal[]
  /** Ends all sessions. */
  close(): void
}

const idleMs = 10 * 60_000
const idleCheckMs = 30_000
/** Limit of input that a program has not read, in bytes. */
const maxPendingBytes = 1024 * 1024

const attachmentOf = ({ clock }: SessionsContext, session: Session, viewer: Viewer): Attachment => ({
  pid: session.pty.pid,
  shown: session.replay,
  input(data) {
    const { input } = session.pty
    if (input.pendingBytes > maxPendingBytes) return false
    session.activeAt = clock.now()
    input.write(Buffer.from(data))
    return true
  },
  resize: (cols, rows) => session.pty.resize(cols, rows),
  detach() {
    session.viewers.delete(viewer)
    session.activeAt = clock.now()
  },
})

const attach = (context: SessionsContext, request: SessionRequest, viewer: Viewer): Attachment => {
  const existing = context.sessions.get(request.sessionId)
  const session = existing ?? startSession(context, request)
  if (existing) {
    session.pty.resize(request.cols, request.rows)
    const shown = session.replay.text()
    if (shown) viewer.output(shown)
  }
  session.viewers.add(viewer)
  session.activeAt = context.clock.now()
  return attachmentOf(context, session, viewer)
}

const endIdle = (context: SessionsContext): void => {
  const { clock, log, sessions } = context
  for (const session of sessions.values()) {
    if (session.viewers.size > 0 || clock.now() - session.activeAt < idleMs) continue
    log.info('terminal.idle', { sessionId: session.id })
    killSession(session.pty.pid)
    closeSession(context, session)
  }
}

const resumeAll = (context: SessionsContext, inherited: readonly InheritedTerminal[]): void => {
  for (const one of inherited) {
    try {
      resumeSession(context, one)
    } catch (error) {
      context.log.error('terminal.lost', { sessionId: one.sessionId, error })
    }
  }
}

export const createSessions = (deps: SessionsDeps): Sessions => {
  const context: SessionsContext = { ...deps, sessions: new Map() }
  const { sessions } = context
  const stopChecking = deps.clock.every(idleCheckMs, () => endIdle(context))
  return {
    attach: (request, viewer) => attach(context, request, viewer),
    resume: inherited => resumeAll(context, inherited),
    handOver: () => Array.from(sessions.values(), sessionState),
    close() {
      stopChecking()
      for (const session of sessions.values()) {
        killSession(session.pty.pid)
        closeSession(context, session)
      }
    },
  }
}
