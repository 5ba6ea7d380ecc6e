/** One terminal session, and what all sessions share. */
import { closeSync } from 'node:fs'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Environment } from '../environment.ts'
import { identityEnvironment, type Identity } from '../identity/index.ts'
import { tenantDrops } from '../init/capabilities.ts'
import type { Reaper } from '../init/reaper.ts'
import type { PtyOpener } from '../native/pty/pty.ts'
import { readStat } from '../proc/stat.ts'
import type { InheritedTerminal } from '../upgrade/handover.ts'
import { inheritedPty, openPty, type Pty, type PtyOptions } from './pty.ts'
import { createReplay, type Replay } from './replay.ts'
import { shellOf } from './shell.ts'

/** A client that shows a session. */
export interface Viewer {
  output(text: string): void
  /** The shell has ended. */
  ended(): void
}

export interface SessionRequest {
  readonly sessionId: string
  readonly shell: string | undefined
  readonly workingDir: string | undefined
  readonly cols: number
  readonly rows: number
}

export interface Session {
  readonly id: string
  readonly pty: Pty
  readonly replay: Replay
  readonly viewers: Set<Viewer>
  activeAt: number
}

export interface SessionsDeps {
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  readonly identity: () => Identity | undefined
  readonly reaper: Pick<Reaper, 'watch'>
  readonly opener: PtyOpener
  /** Where shells start when no directory is given. */
  readonly cwd: string
}

export interface SessionsContext extends SessionsDeps {
  /** By name. */
  readonly sessions: Map<string, Session>
}

/** Limits the memory: each session keeps a replay in the daemon, and any client can name new ones. */
const maxSessions = 256

/** The shell has ended by itself: its name is free at once, and its clients get the rest of its output before they hear of the end. */
const endSession = async (context: SessionsContext, session: Session): Promise<void> => {
  const { sessions } = context
  if (sessions.get(session.id) === session) sessions.delete(session.id)
  await session.pty.drained()
  closeSession(context, session)
}

/** Closes a session whose shell has ended or is being ended. */
export const closeSession = ({ sessions }: SessionsContext, session: Session): void => {
  if (sessions.get(session.id) === session) sessions.delete(session.id)
  session.pty.close()
  for (const viewer of session.viewers) viewer.ended()
  session.viewers.clear()
}

/** Adds a session on the terminal that `open` gives. */
const addSession = (
  context: SessionsContext,
  id: string,
  replay: Replay,
  open: (ends: Pick<PtyOptions, 'opener' | 'clock' | 'onOutput'>) => Pty,
): Session => {
  const { opener, clock, log, reaper, sessions } = context
  const viewers = new Set<Viewer>()
  const onOutput = (text: string) => {
    session.activeAt = clock.now()
    replay.add(text)
    for (const viewer of viewers) viewer.output(text)
  }
  const pty = open({ opener, clock, onOutput })
  const session: Session = { id, pty, replay, viewers, activeAt: clock.now() }
  sessions.set(id, session)
  reaper.watch(pty.pid, exit => {
    log.info('terminal.ended', { sessionId: id, ...exit })
    void endSession(context, session)
  })
  return session
}

/** Starts a shell. Throws `busy`, or the `SpawnError` when it cannot be started. */
export const startSession = (context: SessionsContext, request: SessionRequest): Session => {
  const { environment, cwd, sessions } = context
  const identity = context.identity()
  if (sessions.size >= maxSessions)
    throw fail('busy', { what: `there are ${maxSessions} terminals`, next: 'end one of their shells and try again' })
  const options = {
    shell: shellOf(environment, request.shell),
    cwd: request.workingDir || cwd,
    env: identityEnvironment(identity, { TERM: 'xterm-256color', ...environment.all() }),
    cols: request.cols,
    rows: request.rows,
    identity,
    dropCapabilities: tenantDrops,
  }
  return addSession(context, request.sessionId, createReplay(), ends => openPty({ ...options, ...ends }))
}

/** Continues with a session of the daemon before this one, unless its shell has ended meanwhile. */
export const resumeSession = (context: SessionsContext, inherited: InheritedTerminal): void => {
  const { sessionId, fd, pid, startTicks, kept, cut, rest, typed } = inherited
  // Another process may have its number by now.
  if (readStat(pid)?.startTicks !== startTicks) return closeSync(fd)
  const left = { fd, pid, rest: Buffer.from(rest, 'base64'), typed: Buffer.from(typed, 'base64') }
  addSession(context, sessionId, createReplay(undefined, { kept, cut }), ends => inheritedPty(left, ends))
}

/** Everything that the next daemon needs to continue with a session. */
export const sessionState = ({ id, pty: { fd, pid, rest, input }, replay }: Session): InheritedTerminal => ({
  sessionId: id,
  fd,
  pid,
  startTicks: readStat(pid)?.startTicks ?? '',
  ...replay.state(),
  rest: rest.toString('base64'),
  typed: input.pending().toString('base64'),
})
