/** Defences of the gateway, where bodies pass it unread. */
import type { Defence } from './defence.ts'

const hostile = 'test/control/gateway/hostile.test.ts'

export const gatewayDefences: readonly Defence[] = [
  {
    name: 'an answer goes on being moved when nobody waits for it any more',
    file: 'control/gateway/direct/answer-state.ts',
    text: '  state.stopMoving?.()\n',
    instead: '',
    test: hostile,
  },
  {
    name: 'an answer that breaks off reads as whole',
    file: 'control/gateway/direct/answering.ts',
    text: '    if (isWhole) answered(state, !hasMore)\n',
    instead: '    if (isWhole || true) answered(state, !hasMore)\n',
    test: hostile,
  },
  {
    name: 'a part that was not moved counts as moved',
    file: 'control/relay/move.ts',
    text: 'isWhole: delivered === bytes',
    instead: 'isWhole: true',
    test: 'test/control/relay/move.test.ts',
  },
]
