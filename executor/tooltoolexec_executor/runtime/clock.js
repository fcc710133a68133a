// The run's own clock, in whole milliseconds, which is all V8 measures.

let clockOrigin = 0;
let latestReading = 0;

// The run begins now: its worker was ready before.
function startClock() {
  clockOrigin = DateNow();
  latestReading = 0;
}

// Never less than before, though the machine's clock may be put back.
const performanceNow = () => (latestReading = MathMax(latestReading, DateNow() - clockOrigin));
