/** Ten minutes of it, at 80 % of what the box bears. */
import './arrivals.test.ts'
