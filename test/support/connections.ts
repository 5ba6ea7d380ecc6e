/** Connections into machines that have no channel. */
import type { Test } from 'tap'
import { systemClock } from '../../shared/clock.ts'
import { createConnections, type Connections } from '../../control/core/channel/connections.ts'

export const plainConnections = (t: Test): Connections => {
  const connections = createConnections(
    {
      keyOf: machine => {
        throw new Error(`${machine} has no channel`)
      },
    },
    systemClock(),
  )
  t.teardown(connections.close)
  return connections
}
