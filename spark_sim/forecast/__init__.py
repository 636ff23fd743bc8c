"""Forecasts of what a step does to a live group: the group is continued by the simulation, from its own bytes."""

from spark_sim.forecast.forecast import Forecast, Outcome, forecast
from spark_sim.forecast.observation import ForecastError, ObservedGroup, observe
from spark_sim.forecast.operations import Operation, parse_operation

__all__ = [
    "Forecast",
    "ForecastError",
    "ObservedGroup",
    "Operation",
    "Outcome",
    "forecast",
    "observe",
    "parse_operation",
]
