/** How far a pull is, once or until it ends. */
import type { Writable } from 'node:stream'
import { fail } from '../../../shared/errors.ts'
import { handle, reply, type Bound, type Pump } from '../../../shared/route.ts'
import type { Progress } from '../../core/images/pull/pull.ts'
import type { Pulling } from '../../core/images/pulling.ts'
import { imageProgress } from './image-declarations.ts'
import { factsOf } from './surface.ts'

const isOver = ({ step }: Progress): boolean => step === 'done' || step === 'failed'

/** A reader that is too slow is told less often, and of the end in any case. */
const stream =
  (pulling: Pick<Pulling, 'follow'>, workspace: string, reference: string): Pump =>
  (out: Writable, signal: AbortSignal) =>
    new Promise<void>(resolve => {
      let stop = () => {}
      const end = () => {
        signal.removeEventListener('abort', end)
        stop()
        resolve()
      }
      signal.addEventListener('abort', end)
      stop = pulling.follow(workspace, reference, progress => {
        if (isOver(progress) || !out.writableNeedDrain) out.write(`data: ${JSON.stringify(progress)}\n\n`)
        // What is over at once is told before there is anything to stop.
        if (isOver(progress)) queueMicrotask(end)
      })
    })

const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

export const progressRoute = (pulling: Pick<Pulling, 'follow' | 'progress'>): Bound =>
  handle(imageProgress, ({ params: { imageName }, query: { tag = 'latest', follow } }, context) => {
    const { name: workspace } = factsOf(context).workspace
    const reference = tag.startsWith('sha256:') ? `${imageName}@${tag}` : `${imageName}:${tag}`
    const progress = pulling.progress(workspace, reference)
    if (!progress) throw fail('not_found', { kind: 'pull of image', name: reference })
    return follow ? reply(200, headers, stream(pulling, workspace, reference)) : progress
  })
