import './on-platformatic.ts'
import '../kafka/rebalance.test.ts'
