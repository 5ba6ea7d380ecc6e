/** The program that keeps the files of views (`keep-views.c`): asked line by line, and started again when it has ended or hangs. */
import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { getSystemErrorMessage } from 'node:util'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import { toolEnvironment } from '../command.ts'
import { program } from './programs.ts'

export interface Keeper {
  /** Resolves when it has done what the line says; rejects with `driver_failed` when it could not, or is not there. */
  ask(line: string): Promise<void>
  close(): Promise<void>
}

interface Deps {
  readonly clock: Clock
  readonly log: Log
}

interface Question {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Who reads in a sandbox waits for it: it is asked so often, and given up after so long. */
const pingMs = 500
const hangMs = 1_500
/** Between an end and the next start. */
const againMs = 100

const failed = (reason: string) => fail('driver_failed', { driver: 'oci', step: 'view', reason })

const ended = () => failed('the program that keeps views has ended')

const answered = ({ resolve, reject }: Question, line: string): void => {
  const [word, step, number] = line.split(' ')
  if (word === 'ok') return resolve()
  reject(failed(`${step}: ${getSystemErrorMessage(-Number(number))}`))
}

interface Life {
  readonly child: ChildProcess
  readonly questions: Question[]
  over: boolean
  /** Its end is waited for: that of its pipes, too, and a process with nothing else to wait for would be over before. */
  ending: boolean
  /** Resolves when it is gone. */
  readonly end: Promise<void>
}

/** Who waits for an answer or for its end is waited for; nobody else stays for its sake. */
const keepAlive = ({ child, questions, ending }: Life): void => {
  for (const part of [child, child.stdin as Socket, child.stdout as Socket])
    if (ending || questions.length > 0) part.ref()
    else part.unref()
}

/** One life of the program, from its start to its end. */
const live = (args: readonly string[], log: Log): Life => {
  const child = spawn(program('keep-views'), args, { stdio: ['pipe', 'pipe', 'ignore'], env: toolEnvironment })
  const questions: Question[] = []
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const life: Life = { child, questions, over: false, ending: false, end }
  let greeted = false
  if (child.stdout)
    createInterface(child.stdout).on('line', line => {
      const question = greeted ? questions.shift() : undefined
      if (question) {
        keepAlive(life)
        answered(question, line)
      }
      if (!greeted && line.startsWith('timed'))
        log.info('view.timed', {
          reason: `the kernel does not say who reads (${line}): views are a second old at most`,
        })
      greeted = true
    })
  // A write to one that has ended; its end says so as well.
  child.stdin?.on('error', () => {})
  const over = () => {
    life.over = true
    for (const { reject } of questions.splice(0)) reject(ended())
    resolve()
  }
  child.on('error', error => {
    log.error('view.keeper.unstarted', { error })
    over()
  })
  child.on('close', over)
  keepAlive(life)
  return life
}

/** Ends whatever does not answer in time. Answers what stops it. */
const watch = (ask: (line: string) => Promise<void>, now: () => Life, { clock, log }: Deps): (() => void) => {
  let pinging = false
  return clock.every(pingMs, () => {
    if (pinging) return
    pinging = true
    const { child } = now()
    const cancel = clock.after(hangMs, () => {
      log.warn('view.keeper.hangs', { pid: child.pid })
      child.kill('SIGKILL')
    })
    void ask('ping')
      .catch(() => {
        // It has ended, and is being started again.
      })
      .finally(() => {
        cancel()
        pinging = false
      })
  })
}

export const openKeeper = (args: readonly string[], deps: Deps): Keeper => {
  const { clock, log } = deps
  let closed = false
  let life: Life
  const begin = () => {
    const mine = live(args, log)
    life = mine
    void mine.end.then(() => {
      if (closed) return
      log.warn('view.keeper.ended', { pid: mine.child.pid })
      clock.after(againMs, () => {
        if (!closed) begin()
      })
    })
  }
  begin()
  const askOnce = (line: string): Promise<void> =>
    new Promise((resolve, reject) => {
      if (life.over) return reject(ended())
      life.questions.push({ resolve, reject })
      keepAlive(life)
      life.child.stdin?.write(`${line}\n`)
    })
  const stop = watch(askOnce, () => life, deps)
  return {
    async ask(line) {
      const { child } = life
      try {
        await askOnce(line)
      } catch (error) {
        if (!life.over && life.child === child) throw error
        // Whatever is asked may be asked again: the next life knows what the one before has done.
        await clock.sleep(2 * againMs)
        await askOnce(line)
      }
    },
    async close() {
      closed = true
      stop()
      life.ending = true
      keepAlive(life)
      life.child.stdin?.end()
      const cancel = clock.after(hangMs, () => life.child.kill('SIGKILL'))
      await life.end
      cancel()
    },
  }
}
