// In place of Unfold's copy of Chart.js, which it loads on every page: no page of ours has such a chart.
