import type { Exchange } from '../route.ts'
import type { Turn } from './turn.ts'

/** A turn as what lets it go on sees it; a class for the reason that turns are. */
export class TurnExchange implements Exchange {
  private readonly turn: Turn

  constructor(turn: Turn) {
    this.turn = turn
  }
  isOver(): boolean {
    return this.turn.isOver
  }
  onOver(run: () => void): void {
    this.turn.onOver(run)
  }
  cut(): void {
    this.turn.cut()
  }
}
