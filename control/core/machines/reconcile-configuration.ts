/**
 * Tells the daemon of one instance what its record says by now; one that sleeps is told when it wakes. In a loop of its own: what a daemon
 * takes to answer is nobody else's time, whose machines are to start and to go meanwhile.
 */
import type { Reconcile } from '../transitions/loop.ts'
import type { Context } from './context.ts'

/** How long one keeps its place while its daemon does not answer. One that is well answers in a few ms. */
const turnMs = 250

export const reconcileConfiguration =
  ({ store, standby, configurer, clock }: Context): Reconcile =>
  async (id, _signal, leave) => {
    const instance = await store.instances.get(id)
    if (instance?.status !== 'running' || !configurer.isDue(instance)) return undefined
    const cancel = clock.after(turnMs, leave)
    try {
      const release = await standby.hold(id)
      try {
        await configurer.ensure(instance)
      } finally {
        release()
      }
    } finally {
      cancel()
    }
    return undefined
  }
